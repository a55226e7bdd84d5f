extension HTMLPage {
    static let template = """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>Bluebench: {{verdict}}</title>
        <style>{{{style}}}</style>
        </head>
        <body>
        <header>
        <h1><span class="dot {{verdictClass}}"></span>{{verdict}}</h1>
        <dl class="facts">{{#facts}}<div><dt>{{name}}</dt><dd>{{value}}</dd></div>{{/facts}}</dl>
        <ul class="tiles">{{#tiles}}<li class="{{class}}{{#isZero}} zero{{/isZero}}"><b>{{count}}</b> {{name}}</li>{{/tiles}}</ul>
        {{{share}}}
        </header>
        <main>
        {{#hasAttention}}
        <section>
        <h2>What needs attention</h2>
        {{#attention}}
        <article class="finding {{class}}">
        <h3><span class="badge {{class}}">{{verdict}}</span> {{id}}</h3>
        <p class="title">{{title}}</p>
        {{#hasMessage}}<p class="message">{{message}}</p>{{/hasMessage}}
        {{#hasPlace}}<p class="place">{{place}}</p>{{/hasPlace}}
        {{#hasEvidence}}<table class="evidence"><thead><tr><th>packet</th><th>at</th><th class="number">ms</th><th>content</th></tr></thead><tbody>
        {{#evidence}}<tr><td class="number">{{packet}}</td><td>{{side}}</td><td class="number">{{time}}</td><td><code>{{text}}</code></td></tr>
        {{/evidence}}</tbody></table>{{#hasCapture}}<p class="place">packets of <a href="{{capture}}">{{capture}}</a></p>{{/hasCapture}}{{/hasEvidence}}
        {{#notes}}<p class="note">{{.}}</p>{{/notes}}
        </article>
        {{/attention}}
        </section>
        {{/hasAttention}}
        {{#hasThroughput}}
        <section>
        <h2>Throughput against its ceiling</h2>
        <p class="key"><span class="swatch goodput"></span> goodput <span class="swatch ceiling"></span> ceiling for the link's actual parameters, kbit/s. \
        A row is named by what flows, the PHY, and the data length / ATT_MTU.</p>
        {{#groups}}<h3>{{name}}</h3>
        <div class="plot">{{{chart}}}</div>
        {{/groups}}
        </section>
        {{/hasThroughput}}
        <section>
        <h2>Cases</h2>
        {{#suites}}
        <details{{#isOpen}} open{{/isOpen}}>
        <summary><b>{{name}}</b> <span class="count">{{passed}} of {{total}} passed</span></summary>
        <table class="cases"><thead><tr><th>verdict</th><th>case</th><th>covers</th><th class="number">ms</th></tr></thead><tbody>
        {{#cases}}<tr><td><span class="badge {{class}}">{{verdict}}</span></td>
        <td><b>{{id}}</b><br>{{title}}{{#hasMessage}}<div class="message">{{message}}</div>{{/hasMessage}}
        {{#hasEvidence}}<details class="more"><summary>evidence</summary><table class="evidence"><tbody>
        {{#evidence}}<tr><td class="number">{{packet}}</td><td>{{side}}</td><td class="number">{{time}}</td><td><code>{{text}}</code></td></tr>
        {{/evidence}}</tbody></table></details>{{/hasEvidence}}
        {{#notes}}<div class="note">{{.}}</div>{{/notes}}</td>
        <td class="covers">{{#covers}}<div>{{.}}</div>{{/covers}}</td><td class="number">{{time}}</td></tr>
        {{/cases}}</tbody></table>
        </details>
        {{/suites}}
        </section>
        </main>
        </body>
        </html>
        """

    static let style = """
        :root{color-scheme:light dark;--ground:#fbfbf9;--raised:#fff;--ink:#1c2024;--soft:#5b636b;--line:#dfe2e0;
        --pass:#1a7f4b;--fail:#c0271d;--inconc:#9a6200;--na:#69727c;--error:#7a3db8;--goodput:#2c6fbb;--ceiling:#cfdcec}
        @media (prefers-color-scheme:dark){:root{--ground:#14171a;--raised:#1c2024;--ink:#e6e8ea;--soft:#9aa3ab;--line:#31373d;
        --pass:#4cc38a;--fail:#ff7a6b;--inconc:#e5a93c;--na:#8a939c;--error:#b98af0;--goodput:#5b9fe8;--ceiling:#2a3a4d}}
        *{box-sizing:border-box}
        body{margin:0 auto;max-width:68rem;padding:2rem 1.25rem 4rem;background:var(--ground);color:var(--ink);
        font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,sans-serif}
        h1{font-size:1.9rem;margin:0 0 .75rem;letter-spacing:-.01em}h2{font-size:1.2rem;margin:2.5rem 0 .75rem}
        h3{font-size:1rem;margin:0 0 .25rem}p{margin:.25rem 0}h1,h3,p,summary{overflow-wrap:anywhere}
        .dot{display:inline-block;width:.7em;height:.7em;border-radius:50%;margin-right:.45em;background:currentColor}
        .facts{display:flex;flex-wrap:wrap;gap:.25rem 1.75rem;margin:0 0 1.25rem}.facts div{display:flex;gap:.5rem}
        dt{color:var(--soft)}dd{margin:0;overflow-wrap:anywhere}
        .tiles{display:flex;flex-wrap:wrap;gap:.5rem 1.75rem;list-style:none;padding:0;margin:0 0 .75rem}
        .tiles b{font-size:1.6rem;font-variant-numeric:tabular-nums}.tiles .zero{opacity:.45}
        .pass{color:var(--pass)}.fail{color:var(--fail)}.inconc{color:var(--inconc)}.na{color:var(--na)}.error{color:var(--error)}
        svg.share{width:100%;height:10px;display:block}svg rect.pass{fill:var(--pass)}svg rect.fail{fill:var(--fail)}
        svg rect.inconc{fill:var(--inconc)}svg rect.na{fill:var(--na)}svg rect.error{fill:var(--error)}
        .badge{display:inline-block;min-width:4.2rem;text-align:center;font-size:.75rem;font-weight:600;line-height:1.5;
        border:1px solid currentColor;border-radius:4px;padding:0 .35rem}
        .finding{background:var(--raised);color:var(--ink);border:1px solid var(--line);border-left:4px solid var(--edge,var(--line));
        border-radius:6px;padding:.9rem 1.1rem;margin:0 0 .9rem}.finding.fail{--edge:var(--fail)}.finding.inconc{--edge:var(--inconc)}
        .finding.error{--edge:var(--error)}.title{color:var(--soft)}
        .place,.note{color:var(--soft);font-size:.86rem;overflow-wrap:anywhere}
        code{font:12.5px/1.45 ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;overflow-wrap:anywhere}
        table{border-collapse:collapse;width:100%}th{text-align:left;font-weight:500;color:var(--soft);font-size:.82rem}
        td,th{padding:.35rem .6rem .35rem 0;border-bottom:1px solid var(--line);vertical-align:top}
        .cases>tbody>tr>td:nth-child(2){overflow-wrap:anywhere}a{color:inherit}.number{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
        .covers{color:var(--soft);font-size:.82rem;white-space:nowrap}
        .evidence{margin:.6rem 0 0}.evidence td{padding-top:.2rem;padding-bottom:.2rem}.evidence td:nth-child(2){color:var(--soft)}
        .evidence .number{width:4rem}.message{margin:.2rem 0}
        details{border-bottom:1px solid var(--line);padding:.5rem 0}details details{border:0;padding:.2rem 0}
        summary{cursor:pointer}.count{color:var(--soft);margin-left:.5rem}.more summary{color:var(--soft);font-size:.82rem}
        .bar{display:grid;grid-template-columns:15rem minmax(8rem,1fr) 6rem 11rem;gap:0 .75rem;align-items:center;font-size:.8rem}
        .bar .name,.bar .figure{text-align:right}.bar .figure{font-variant-numeric:tabular-nums}.bar .limit,.ticks{color:var(--soft)}
        .axis{margin-bottom:1.25rem}.ticks{display:flex;justify-content:space-between}
        svg.chart{width:100%;height:1.6rem;display:block;overflow:visible}
        svg .grid{stroke:var(--line);vector-effect:non-scaling-stroke}svg .ceiling{fill:var(--ceiling)}svg .goodput{fill:var(--goodput)}
        .key{color:var(--soft);font-size:.86rem}.swatch{display:inline-block;width:1.2em;height:.7em;border-radius:2px;margin-left:.6em}
        .swatch.goodput{background:var(--goodput)}.swatch.ceiling{background:var(--ceiling)}
        .evidence td:nth-child(2){white-space:nowrap}
        @media (max-width:44rem){.bar{grid-template-columns:1fr auto}.bar .name,.bar svg,.ticks{grid-column:1/-1}
        .bar .name,.bar .figure{text-align:left}.bar .limit{text-align:right}svg.chart{height:1rem}
        .bar:not(.axis){margin-bottom:.5rem}.cases>thead,.evidence thead{display:none}
        .cases>tbody>tr{display:block;padding:.5rem 0;border-bottom:1px solid var(--line)}
        .cases>tbody>tr>td{display:block;border:0;padding:.1rem 0;text-align:left;white-space:normal}
        .evidence,.evidence tbody,.evidence tr{display:block}.evidence tr{padding:.25rem 0}
        .evidence td{display:inline;border:0;padding:0 .5rem 0 0;text-align:left}.evidence td:last-child{display:block}}
        @media print{body{max-width:none;background:#fff}details>*{display:revert}}
        """
}
