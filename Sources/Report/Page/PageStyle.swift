/// The page's style sheet in parts: colours and text, cases, ladders, figures, other media.
enum PageStyle {
    static let text = base + cases + ladder + figures + media

    private static let base = """
        :root{color-scheme:light dark;--ground:#fafaf8;--raised:#fff;--ink:#1b1f23;--soft:#59616a;--line:#dfe2e1;--hover:#f1f3f2;
        --pass:#1a7443;--fail:#b9241b;--inconc:#885400;--na:#5f6871;--error:#7136ac;--link:#1d5fa8;--focus:#1d5fa8;
        --goodput:#2c6fbb;--high:#d3e5f7;--low:#fbdcae;--lost:#fdecea}
        @media (prefers-color-scheme:dark){:root{--ground:#131619;--raised:#1a1e22;--ink:#e4e7ea;--soft:#9da6ae;--line:#2f353b;--hover:#22272c;
        --pass:#4fc48d;--fail:#ff8275;--inconc:#e6ad45;--na:#98a1aa;--error:#c09af2;--link:#83b8f2;--focus:#83b8f2;
        --goodput:#5b9fe8;--high:#1f4469;--low:#6b4710;--lost:#3a1f1d}}
        *{box-sizing:border-box}
        .case,.suite{scroll-margin-top:7.5rem}
        body{margin:0 auto;max-width:72rem;padding:2rem 1.5rem 5rem;background:var(--ground);color:var(--ink);
        font:15px/1.5 system-ui,-apple-system,"Segoe UI",Roboto,"Helvetica Neue",sans-serif}
        h1,h2,h3,h4,h5,p,dl,dd,ol,ul,pre{margin:0}h1,h2,h3,h4,p,dd,li,summary{overflow-wrap:anywhere}
        h1{font-size:2rem;line-height:1.2;font-weight:650;letter-spacing:-.015em;margin:.1rem 0 1rem}
        h1::before{content:"";display:inline-block;width:.55em;height:.55em;border-radius:50%;background:currentColor;margin-right:.4em;vertical-align:.08em}
        h1.fail::before{border-radius:0;transform:rotate(45deg) scale(.9)}h1.inconc::before{border-radius:0}
        h1{color:inherit}h1::before{color:var(--pass)}h1.fail::before{color:var(--fail)}h1.inconc::before{color:var(--inconc)}
        h2{font-size:1.25rem;font-weight:650;margin:2.75rem 0 .75rem;letter-spacing:-.005em}
        h3{font-size:1rem;font-weight:600}h4{font-size:.95rem;font-weight:600}
        h5{font-size:.78rem;font-weight:600;color:var(--soft);text-transform:uppercase;letter-spacing:.05em;margin:1.25rem 0 .35rem}
        a{color:var(--link)}a:not(:hover){text-decoration-color:color-mix(in srgb,currentColor 35%,transparent)}
        .soft{color:var(--soft);font-size:.88rem}.brand{color:var(--soft);font-size:.88rem}
        code,pre,kbd{font:12.5px/1.5 ui-monospace,SFMono-Regular,Menlo,Consolas,"Liberation Mono",monospace}
        code{overflow-wrap:anywhere}
        :focus-visible{outline:2px solid var(--focus);outline-offset:2px;border-radius:3px}
        .skip{position:absolute;left:-999rem;top:.5rem;background:var(--raised);padding:.5rem .9rem;border:1px solid var(--line);border-radius:6px;z-index:9}
        .skip:focus{left:.75rem}
        [hidden]{display:none!important}
        .tiles{display:flex;flex-wrap:wrap;gap:.1rem 1.9rem;list-style:none;padding:0;margin-bottom:.6rem}
        .tiles li{font-size:.88rem}.tiles b{font-size:1.55rem;font-weight:600;font-variant-numeric:tabular-nums;margin-right:.1em}
        .tiles .zero{color:var(--soft)}.tiles .zero b{font-weight:400}
        .pass{color:var(--pass)}.fail{color:var(--fail)}.inconc{color:var(--inconc)}.na{color:var(--na)}.error{color:var(--error)}
        svg.share{width:100%;height:8px;display:block;margin-bottom:1.25rem}
        svg .pass{fill:var(--pass)}svg .fail{fill:var(--fail)}svg .inconc{fill:var(--inconc)}svg .na{fill:var(--na)}svg .error{fill:var(--error)}
        .facts{display:grid;grid-template-columns:repeat(auto-fill,minmax(15rem,1fr));gap:.3rem 1.5rem;font-size:.88rem}
        .facts.wide{grid-template-columns:1fr;margin-top:.5rem}.facts.wide div{display:grid;grid-template-columns:10rem 1fr}
        .facts div{display:flex;gap:.6rem;min-width:0}dt{color:var(--soft);flex:none}dd{min-width:0;overflow-wrap:anywhere}
        .environment{margin-top:.75rem;font-size:.88rem}.environment>summary{color:var(--soft)}
        nav ul{display:flex;flex-wrap:wrap;gap:.25rem 1.5rem;list-style:none;padding:.6rem 0;margin-top:1.25rem;border-block:1px solid var(--line);font-size:.92rem}
        table{border-collapse:collapse;width:100%}th{text-align:left;font-weight:500;color:var(--soft);font-size:.82rem}
        td,th{padding:.35rem .75rem .35rem 0;border-bottom:1px solid var(--line);vertical-align:top}
        summary{cursor:pointer}
        """

    private static let cases = """
        .badge{display:inline-block;flex:none;min-width:4.4rem;text-align:center;font-size:.72rem;font-weight:650;line-height:1.6;letter-spacing:.02em;
        border:1px solid currentColor;border-radius:4px;padding:0 .35rem;font-variant-numeric:tabular-nums}
        .badge.pass{border-color:transparent}.badge.na{border-style:dashed}.badge.inconc{border-style:dotted}
        .badge.fail{background:var(--fail);border-color:var(--fail);color:var(--ground)}
        .badge.pass::before{content:"✓ " / ""}.badge.fail::before{content:"✗ " / ""}.badge.inconc::before{content:"? " / ""}
        .badge.error::before{content:"! " / ""}.badge.na::before{content:"– " / ""}
        .attention{list-style:none;padding:0}
        .finding{display:flex;gap:.75rem;padding:.7rem 0;border-top:1px solid var(--line)}.finding:last-child{border-bottom:1px solid var(--line)}
        .finding>.badge{align-self:start;min-width:4.9rem;margin-top:.15rem}.finding>div{min-width:0;color:var(--ink)}.links{list-style:none;padding:0;display:flex;flex-wrap:wrap;gap:0 1.1rem;font-size:.9rem}
        .message{max-width:60rem}
        .filter{position:sticky;top:0;z-index:2;display:flex;flex-wrap:wrap;gap:.6rem 1rem;align-items:end;background:var(--ground);
        padding:.75rem 0;margin-bottom:.5rem;border-bottom:1px solid var(--line);font-size:.85rem}
        .filter label>span,.filter legend{display:block;color:var(--soft);font-size:.78rem;padding:0}
        .filter .search{flex:1 1 15rem}.filter input[type=search],.filter select{font:inherit;font-size:.92rem;color:inherit;background:var(--raised);
        border:1px solid color-mix(in srgb,var(--soft) 70%,transparent);border-radius:6px;padding:.35rem .5rem;height:2.2rem;width:100%;min-width:5.5rem;max-width:100%}
        fieldset{border:0;padding:0;margin:0;min-width:0}
        .chip{display:inline-flex;margin:0 .25rem .2rem 0}.chip input{position:absolute;opacity:0;width:1px;height:1px}
        .chip span{display:inline-block!important;color:inherit!important;font-size:.82rem!important;border:1px solid var(--line);border-radius:1.1rem;
        padding:.3rem .7rem!important;background:var(--raised);cursor:pointer;font-variant-numeric:tabular-nums;white-space:nowrap}
        .chip input:checked+span{background:currentColor;border-color:currentColor}.chip input:checked+span{-webkit-text-fill-color:var(--ground)}
        .chip input:focus-visible+span{outline:2px solid var(--focus);outline-offset:2px}
        .tally{flex:1 0 100%;color:var(--soft);display:flex;flex-wrap:wrap;gap:.2rem .9rem;align-items:baseline}
        .tally output{color:var(--ink);font-variant-numeric:tabular-nums}
        button{font:inherit;font-size:.85rem;color:var(--link);background:none;border:0;padding:.1rem .2rem;cursor:pointer;text-decoration:underline}
        kbd{font-size:.75rem;border:1px solid var(--line);border-radius:3px;padding:0 .3em;background:var(--raised)}.keys{margin-left:auto}
        .suite{border-bottom:1px solid var(--line)}.suite>summary{padding:.55rem 0}.suite>summary h3{display:inline}
        .suite[open]>summary{border-bottom:1px solid var(--line)}.suite[open]{padding-bottom:.75rem}
        .case{color:var(--ink);border-bottom:1px solid color-mix(in srgb,var(--line) 60%,transparent)}.case:last-child{border:0}
        .case>summary{display:grid;grid-template-columns:4.9rem minmax(9rem,17rem) 1fr auto;gap:.1rem .75rem;align-items:baseline;padding:.32rem .25rem;list-style:none}
        .case>summary::-webkit-details-marker{display:none}.case>summary:hover,.ladder summary:hover{background:var(--hover)}
        .case>summary .title{color:var(--soft);font-size:.9rem;min-width:0}.case h4{min-width:0}
        .time{color:var(--soft);font-size:.8rem;font-variant-numeric:tabular-nums;white-space:nowrap}
        .case>.body{padding:.5rem 0 1.75rem 1.1rem;margin-left:.25rem;border-left:2px solid var(--line)}
        .case.fail>.body{border-color:var(--fail)}.case.inconc>.body{border-color:var(--inconc)}.case.error>.body{border-color:var(--error)}
        .versus{display:grid;grid-template-columns:1fr 1fr;gap:.75rem;margin:.75rem 0}
        .versus div{border:1px solid var(--line);border-left:3px solid var(--pass);border-radius:4px;background:var(--raised);padding:.45rem .7rem;min-width:0}
        .versus .got{border-left:3px double var(--fail)}.versus dt,.versus dt .soft{font-size:.78rem}
        .about{margin-top:.75rem;font-size:.92rem}.about div{display:grid;grid-template-columns:5rem minmax(0,46rem);gap:.75rem}
        .about span{white-space:nowrap}
        .since{max-width:58rem;font-size:.88rem;table-layout:fixed}.since td,.since th{overflow-wrap:anywhere}
        .steps{list-style:none;padding:0;font-size:.92rem;max-width:58rem}
        .steps li{display:flex;justify-content:space-between;gap:1rem;padding:.14rem 0 .14rem calc(1.5rem + var(--depth,0)*1.25rem);position:relative}
        .steps li>span:first-child{min-width:0}
        .steps li::before{position:absolute;left:calc(.2rem + var(--depth,0)*1.25rem);font-weight:700}
        .steps .passed::before{content:"✓" / "passed";color:var(--pass)}.steps .failed::before{content:"✗" / "failed";color:var(--fail)}
        .steps .skipped::before{content:"–" / "skipped";color:var(--na)}.steps .open::before{content:"○" / "not reached";color:var(--soft);font-weight:400}
        .steps .open,.steps .skipped{color:var(--soft)}.steps .failed{font-weight:600}.steps .failed .requirement{font-weight:400}
        .steps .part{padding-left:0;color:var(--soft);font-size:.8rem}.requirement{display:block;color:var(--soft);font-size:.86rem}
        .evidence{list-style:none;padding:0;font-size:.9rem}.evidence li{padding:.12rem 0}.number{font-variant-numeric:tabular-nums;color:var(--soft);font-size:.8rem}
        .command{overflow-x:auto;background:var(--raised);border:1px solid var(--line);border-radius:4px;padding:.45rem .7rem;margin:.3rem 0}
        """

    private static let ladder = """
        .ladder{max-width:58rem;--at:4rem;font-size:.82rem}
        .ladder ol,.ladder ul{list-style:none;padding:0}
        .lanes{display:grid;grid-template-columns:repeat(4,1fr);margin-left:var(--at);color:var(--soft);font-size:.76rem;text-align:center;line-height:1.25;padding-bottom:.25rem}
        .ladder ol{--rail:color-mix(in srgb,var(--soft) 45%,transparent);padding:.2rem 0 .6rem;
        background:linear-gradient(var(--rail),var(--rail)),linear-gradient(var(--rail),var(--rail)),linear-gradient(var(--rail),var(--rail)),linear-gradient(var(--rail),var(--rail));
        background-repeat:no-repeat;background-size:1px 100%;background-position:calc(var(--at) + (100% - var(--at))*.125) 0,calc(var(--at) + (100% - var(--at))*.375) 0,
        calc(var(--at) + (100% - var(--at))*.625) 0,calc(var(--at) + (100% - var(--at))*.875) 0}
        .ladder .row{display:block;position:relative;padding:.12rem 0 .5rem var(--at);list-style:none}
        .ladder summary::-webkit-details-marker{display:none}
        .ladder .row .time{position:absolute;left:0;width:calc(var(--at) - .5rem);text-align:right;font-size:.75rem}
        .ladder .label{display:block;padding-inline:12.5%}
        .ladder .label>*{background:var(--ground)}.ladder summary:hover .label>*{background:var(--hover)}
        .ladder .label .name:first-child{padding-left:.3rem}.ladder .number{font-size:.74rem;padding-inline:.15rem .3rem}
        .ladder .brief{color:var(--soft)}
        .ladder [class^=s-]:not(.s-air) .label{text-align:right}.ladder .t-air .label,.ladder .s-air .label{text-align:center}
        .ladder .row::after,.ladder .row::before{content:"";position:absolute;bottom:.25rem}
        .ladder .row::after{left:calc(var(--at) + (100% - var(--at))*var(--from));width:calc((100% - var(--at))*.25);border-bottom:1.5px solid var(--tone,var(--ink))}
        .ladder .row::before{bottom:calc(.25rem - 3px);border:4px solid transparent;z-index:1}
        .t-down .row,.t-up .row{--from:.125}.t-air .row,.s-air .row{--from:.375}.s-down .row,.s-up .row{--from:.625}
        .ladder :is(.t-down,.t-air,.s-up) .row::before{border-left:7px solid var(--tone,var(--ink));border-right:0;left:calc(var(--at) + (100% - var(--at))*(var(--from) + .25) - 7px)}
        .ladder :is(.t-up,.s-air,.s-down) .row::before{border-right:7px solid var(--tone,var(--ink));border-left:0;left:calc(var(--at) + (100% - var(--at))*var(--from))}
        .ladder :is(.t-up,.s-up) .row::after{border-bottom-style:dashed}.ladder :is(.t-air,.s-air) .row{--tone:var(--goodput)}
        .ladder .marked .name{font-weight:650}.ladder .failing .row{--tone:var(--fail)}.ladder .failing .row::after{border-bottom-width:3px}
        .ladder .failing .name,.ladder .failing b{color:var(--fail);font-weight:650}
        .ladder li ul{margin:.1rem 0 .5rem var(--at);padding:.4rem .7rem;background:var(--raised);border:1px solid var(--line);border-radius:4px;
        display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,18rem),1fr));gap:0 1.5rem}
        .ladder .gap{margin-left:var(--at);padding:.3rem 0;text-align:center;color:var(--soft);background:var(--ground)}
        .ladder .missing{color:var(--fail);border:1px dashed var(--fail);border-radius:4px;padding:.35rem .7rem}
        """

    private static let figures = """
        .maps{display:flex;flex-wrap:wrap;gap:1.25rem 2.5rem;margin:.75rem 0 1.75rem}.maps table{width:auto;border-collapse:separate;border-spacing:2px}
        .maps caption{text-align:left;font-weight:600;font-size:.88rem;padding-bottom:.2rem}
        .maps td,.maps th{border:0;padding:.3rem .55rem;text-align:center;font-variant-numeric:tabular-nums}.maps tbody th{text-align:right}
        .maps td{background:color-mix(in oklab,var(--high) calc(var(--share)*1%),var(--low));border-radius:4px;min-width:5.2rem;line-height:1.3}
        .maps td.none{background:none}.maps td b{font-weight:600}.maps td small{display:block;font-size:.74rem}
        .bar{display:grid;grid-template-columns:15rem minmax(8rem,1fr) 6rem 11rem;gap:0 .75rem;align-items:center;font-size:.8rem}
        .bar .name,.bar .figure{text-align:right}.bar .figure{font-variant-numeric:tabular-nums}.bar .limit,.ticks{color:var(--soft)}
        .axis{margin-bottom:1.25rem}.ticks{display:flex;justify-content:space-between}
        svg.chart{width:100%;height:1.5rem;display:block;overflow:visible}svg .grid{stroke:var(--line);vector-effect:non-scaling-stroke}
        .key{display:flex;flex-wrap:wrap;gap:.1rem 1.1rem;color:var(--soft);font-size:.84rem}.swatch{display:inline-block;width:1.1em;height:.7em;border-radius:2px;margin-right:.4em}
        .goodput{fill:var(--goodput);background:var(--goodput)}.c-interval{fill:#9fb3c8;background:#9fb3c8}.c-air{fill:#c3ccd5;background:#c3ccd5}
        .c-event-length{fill:#d9a441;background:#d9a441}.c-credits{fill:#c77d3b;background:#c77d3b}.c-host{fill:#7f9f6b;background:#7f9f6b}
        .c-peer{fill:#a77fc0;background:#a77fc0}.c-retransmissions{fill:#c65b52;background:#c65b52}.c-transport{fill:#5f8f8b;background:#5f8f8b}
        .c-acknowledgement{fill:#b8a04c;background:#b8a04c}.c-radio{fill:#8b8f95;background:#8b8f95}
        .coverage summary{margin:.5rem 0}.coverage td:nth-child(1){white-space:nowrap}.coverage td .badge{min-width:4rem}
        """

    private static let media = """
        @media (max-width:46rem){body{padding:1.25rem 1rem 3rem}h1{font-size:1.5rem}.filter{position:static}.keys{display:none!important}
        .case>summary{grid-template-columns:4.6rem 1fr auto}.case>summary .time{grid-row:1;grid-column:3}.case>summary .title{grid-row:2;grid-column:2/-1}
        .versus{grid-template-columns:1fr}.case>.body{padding-left:.75rem}.facts.wide div{grid-template-columns:1fr}
        .about div{grid-template-columns:1fr;gap:0;margin-bottom:.3rem}.about span{white-space:normal}.finding{display:block}
        .steps li{display:block}.steps li>.time{display:block}.case,.suite{scroll-margin-top:.5rem}.ladder{--at:2.9rem}.ladder .row .time{font-size:.68rem;width:calc(var(--at) - .25rem)}.ladder .label{padding-inline:4%}
        .bar{grid-template-columns:1fr auto}.bar .name,.bar svg,.ticks{grid-column:1/-1}.bar .name,.bar .figure{text-align:left}.bar .limit{text-align:right}
        .bar:not(.axis){margin-bottom:.5rem}.maps td{min-width:0;padding:.3rem}.maps td small{font-size:.68rem}
        .coverage thead{display:none}.coverage td:nth-child(1){white-space:normal;overflow-wrap:anywhere}.coverage tr,.coverage td{display:block;border:0;padding:.05rem 0}.coverage tr{border-bottom:1px solid var(--line);padding:.35rem 0}}
        @media print{:root{--ground:#fff;--raised:#fff;--ink:#000;--soft:#444;--line:#bbb;--pass:#135c34;--fail:#a01a12;--inconc:#6d4300;--na:#444;--error:#57278a;--link:#000}
        body{max-width:none;padding:0;font-size:10.5pt}.filter,nav,.skip{display:none!important}a{text-decoration:none}
        .suite::details-content,.environment::details-content,.coverage::details-content,.case:is(.fail,.error,.inconc)::details-content{display:block;content-visibility:visible;block-size:auto}
        .case>summary,.ladder li,.steps li,.finding,.bar,.versus{break-inside:avoid}h2,h3,h4,h5{break-after:avoid}
        .command{white-space:pre-wrap;overflow-wrap:anywhere}
        *{-webkit-print-color-adjust:exact;print-color-adjust:exact}}
        """
}
