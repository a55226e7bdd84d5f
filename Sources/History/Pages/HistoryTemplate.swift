/// Templates of the history page and its repeated parts. The template engine escapes all input.
enum HistoryTemplate {
    static let page = """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>{{title}}</title>
        <style>{{{style}}}</style>
        </head>
        <body>
        <header><h1>{{title}}</h1>
        <p>{{summary}}</p></header>
        <main>
        {{#hasChanged}}<section><h2>What changed</h2>
        <ul>{{#changed}}<li><a href="#{{anchor}}">{{name}}</a> {{#latest}}{{>change}}{{/latest}}</li>
        {{/changed}}</ul></section>
        {{/hasChanged}}{{#setups}}<section><h2>{{name}}</h2>
        <div class="rows">
        {{#rows}}{{>row}}{{/rows}}</div></section>
        {{/setups}}{{#verdicts}}{{>verdicts}}{{/verdicts}}</main>
        <footer><p>A band is where noise keeps a row: three standard deviations about the level's median. Changes of level are found by seeded \
        binary segmentation with a robust CUSUM and confirmed by a permutation test.</p></footer>
        </body>
        </html>

        """

    static let change = """
        <span class="{{kind}}"><b>{{percent}}</b> {{kind}}</span> since {{build}}, {{day}}: {{before}} to {{after}}
        """

    static let row = """
        <article id="{{anchor}}">
        <h3>{{name}}</h3>
        <p>{{level}}</p>
        {{#plot}}{{>plot}}{{/plot}}
        {{#hasChanged}}<ol>{{#changes}}<li>{{>change}}</li>{{/changes}}</ol>{{/hasChanged}}
        <details><summary>all {{count}} runs</summary>
        <table><thead><tr><th>build</th><th>date</th><th class="number">{{unit}}</th></tr></thead><tbody>
        {{#runs}}<tr><td>{{build}}</td><td>{{day}}</td><td class="number">{{value}}</td></tr>
        {{/runs}}</tbody></table></details>
        </article>

        """

    static let plot = """
        <svg viewBox="0 0 {{width}} {{height}}" role="img" aria-label="{{label}}">\
        {{#grid}}<line class="grid" x1="{{left}}" x2="{{right}}" y1="{{y}}" y2="{{y}}"/>\
        <text class="end" x="{{textX}}" y="{{textY}}">{{text}}</text>{{/grid}}\
        {{#levels}}<rect class="band" x="{{x}}" y="{{top}}" width="{{width}}" height="{{height}}"/>\
        <line class="level" x1="{{x}}" x2="{{end}}" y1="{{y}}" y2="{{y}}"/>{{/levels}}\
        <polyline class="line" points="{{line}}"/>\
        {{#marks}}<g class="{{kind}}"><line x1="{{x}}" x2="{{x}}" y1="{{top}}" y2="{{bottom}}"/>\
        <text class="mid" x="{{x}}" y="{{textY}}">{{number}}</text></g>{{/marks}}\
        {{#points}}{{#failed}}<path class="failed" d="{{path}}"><title>{{title}}</title></path>{{/failed}}\
        {{^failed}}<circle cx="{{x}}" cy="{{y}}" r="{{radius}}"><title>{{title}}</title></circle>{{/failed}}{{/points}}\
        {{#ends}}<text{{#isLast}} class="end"{{/isLast}} x="{{x}}" y="{{y}}">{{text}}</text>{{/ends}}</svg>
        """

    static let verdicts = """
        <section><h2>Verdicts: {{setup}}</h2>
        <article>
        <p>{{counts}} in {{build}}</p>
        <svg viewBox="0 0 {{width}} {{height}}" role="img" aria-label="Verdicts of {{runCount}} runs">\
        {{#runs}}<g><title>{{title}}</title>{{#bars}}<rect class="{{class}}" x="{{x}}" y="{{y}}" width="{{width}}" height="{{height}}"/>{{/bars}}</g>{{/runs}}</svg>
        {{#hasTurned}}<table><thead><tr><th>case</th><th>turned</th><th>at</th><th>date</th></tr></thead><tbody>
        {{#turns}}<tr><td>{{id}}</td><td>{{turned}}</td><td>{{build}}</td><td>{{day}}</td></tr>
        {{/turns}}</tbody></table>
        {{/hasTurned}}{{^hasTurned}}<p>No verdict has turned.</p>{{/hasTurned}}\
        {{#isFlaky}}<p>flaky in the latest run: {{flaky}}</p>{{/isFlaky}}</article></section>

        """
}
