/// The frame of the page. Repeated parts are built as strings by the types beside this one.
enum PageTemplate {
    static let page = """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>{{verdict}} · Bluebench</title>
        <style>{{{style}}}</style>
        </head>
        <body>
        <a class="skip" href="#cases">Skip to the cases</a>
        <header class="top">
        <p class="brand">Bluebench{{#hasDate}} · {{date}}{{/hasDate}}</p>
        <h1 class="{{verdictClass}}">{{verdict}}</h1>
        <ul class="tiles" aria-label="Verdicts">{{#tiles}}<li class="{{class}}{{#isZero}} zero{{/isZero}}"><b>{{count}}</b> {{name}}</li>{{/tiles}}</ul>
        {{{share}}}
        <dl class="facts">{{#facts}}<div><dt>{{name}}</dt><dd>{{value}}</dd></div>{{/facts}}</dl>
        {{#hasDevices}}<details class="environment"><summary>Devices, and what was found of them</summary>
        <dl class="facts wide">{{#devices}}<div><dt>{{name}}</dt><dd>{{value}}</dd></div>{{/devices}}</dl></details>{{/hasDevices}}
        <nav aria-label="Parts of the report"><ul>{{#parts}}<li><a href="#{{id}}">{{name}}</a></li>{{/parts}}</ul></nav>
        </header>
        <main>
        {{#hasAttention}}{{>attention}}{{/hasAttention}}
        {{>cases}}
        {{#hasThroughput}}{{>throughput}}{{/hasThroughput}}
        {{#hasCommands}}{{>commands}}{{/hasCommands}}
        {{#hasCoverage}}{{>coverage}}{{/hasCoverage}}
        </main>
        <script>{{{script}}}</script>
        </body>
        </html>
        """

    static let attention = """
        <section id="attention" aria-labelledby="attention-title">
        <h2 id="attention-title">What needs attention</h2>
        <ol class="attention">{{#attention}}
        <li class="finding {{class}}"><span class="badge {{class}}">{{verdict}}</span><div><p class="message">{{message}}</p>
        <ul class="links">{{#cases}}<li><a href="#{{link}}">{{id}}</a></li>{{/cases}}</ul>{{#hasMore}}<p class="soft">and {{more}} more cases</p>{{/hasMore}}</div></li>{{/attention}}
        </ol>
        </section>
        """

    static let cases = """
        <section id="cases" aria-labelledby="cases-title">
        <h2 id="cases-title" tabindex="-1">Cases</h2>
        <form class="filter needs-script" role="search" aria-label="Filter cases" hidden>
        <label class="search"><span>Search</span><input type="search" id="query" autocomplete="off" spellcheck="false" \
        placeholder="words, a public id, suite:phy"></label>
        <label><span>Suite</span><select id="suite"><option value="">all</option>{{#suiteNames}}<option>{{.}}</option>{{/suiteNames}}</select></label>
        {{#hasTags}}<label><span>Tag</span><select id="tag"><option value="">all</option>{{#tags}}<option>{{.}}</option>{{/tags}}</select></label>{{/hasTags}}
        <fieldset><legend>Verdict</legend>{{#verdicts}}<label class="chip {{class}}"><input type="checkbox" name="verdict" value="{{class}}">\
        <span>{{name}} <b>{{count}}</b></span></label>{{/verdicts}}</fieldset>
        <p class="tally"><output id="tally" role="status" aria-live="polite"></output> <button type="button" id="clear">Show all</button>\
        <span class="keys"><kbd>/</kbd> search · <kbd>j</kbd> <kbd>k</kbd> next, previous · <kbd>Enter</kbd> open · <kbd>Esc</kbd> show all</span></p>
        </form>
        {{#suites}}<details class="suite" data-suite="{{name}}"{{#isOpen}} open{{/isOpen}}>
        <summary><h3>{{name}}</h3> <span class="soft">{{passed}} of {{total}} passed</span></summary>
        {{{cases}}}</details>
        {{/suites}}
        <p id="nothing" class="soft" hidden>No case is like that.</p>
        </section>
        """

    static let throughput = """
        <section id="throughput" aria-labelledby="throughput-title">
        <h2 id="throughput-title">Throughput against its ceiling</h2>
        {{#hasMaps}}<p class="soft">Per cent of the ceiling for the link's actual parameters, and below it the goodput in kbit/s and \
        what that is of the rate of the PHY back to back.</p>
        <div class="maps">{{{maps}}}</div>{{/hasMaps}}
        <h3>Where the air time went</h3>
        <p class="key">{{#causes}}<span><i class="swatch {{class}}"></i>{{name}}</span> {{/causes}}</p>
        <p class="soft">A bar is what the air could carry back to back, in kbit/s: goodput first, then what kept the rest from arriving. \
        A row is named by what flows, the PHY or packet type, and the data length / ATT_MTU.</p>
        {{#groups}}<h4>{{name}}</h4>
        <div class="plot">{{{chart}}}</div>
        {{/groups}}
        </section>
        """

    static let throughputPage = """
        <!DOCTYPE html>
        <html lang="en">
        <head>
        <meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta name="color-scheme" content="light dark">
        <title>Throughput: {{title}} · Bluebench</title>
        <style>{{{style}}}</style>
        </head>
        <body>
        <header class="top">
        <p class="brand">Bluebench throughput · {{date}}</p>
        <h1 class="{{titleClass}}">{{title}}</h1>
        <dl class="facts">{{#facts}}<div><dt>{{name}}</dt><dd>{{value}}</dd></div>{{/facts}}</dl>
        </header>
        <main>
        {{>throughput}}
        <section id="rows" aria-labelledby="rows-title">
        <h2 id="rows-title">Row by row</h2>
        {{#rows}}<details class="environment row" id="row-{{number}}"><summary><b>{{name}}</b> {{figure}}</summary>
        <p>{{figure}} of at most {{ceiling}} kbit/s, {{percent}} %. {{explanation}}</p>
        {{#hasEvents}}<h5>The first events</h5>
        <p class="soft">A line is a connection interval from an anchor point on: above what the central sends, below what the peripheral sends, \
        dark with data and light without.</p>
        <div class="plot">{{{events}}}</div>{{/hasEvents}}</details>
        {{/rows}}
        </section>
        </main>
        </body>
        </html>
        """

    static let commands = """
        <section id="commands" aria-labelledby="commands-title">
        <h2 id="commands-title">Command by command</h2>
        <p class="soft">{{commandsLine}}</p>
        <details class="coverage"><summary>All {{commandsCount}} commands</summary>
        <table><thead><tr><th scope="col">command</th><th scope="col">claimed</th><th scope="col">verdict</th><th scope="col">cases</th></tr></thead><tbody>
        {{{commands}}}</tbody></table></details>
        </section>
        """

    static let coverage = """
        <section id="coverage" aria-labelledby="coverage-title">
        <h2 id="coverage-title">Coverage by public id</h2>
        <p class="soft">{{coverageLine}}</p>
        <details class="coverage"><summary>All {{coverageCount}} ids</summary>
        <table><thead><tr><th scope="col">id</th><th scope="col">verdict</th><th scope="col">cases</th></tr></thead><tbody>
        {{{coverage}}}</tbody></table></details>
        </section>
        """
}
