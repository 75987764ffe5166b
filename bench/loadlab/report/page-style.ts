import { TOKENS } from '../plots/tokens.js'

/** The style of the report's page: one column of text, two of plots, light and dark; in a narrow window rows become blocks. */
export const PAGE_STYLE = `${TOKENS}
*{box-sizing:border-box}
body{margin:0;background:var(--ground);color:var(--text);font:15px/1.6 var(--sans);font-variant-numeric:tabular-nums}
main{max-width:1320px;overflow-wrap:anywhere;margin:0 auto;padding:36px 28px 80px}
h1{font-size:32px;line-height:1.22;margin:0 0 6px;letter-spacing:-.022em}
h2{font-size:21px;margin:56px 0 8px;padding-top:18px;border-top:1px solid var(--line)}
h3{font-size:16px;margin:28px 0 8px}
p{max-width:78ch;margin:8px 0}
.meta{color:var(--soft)}
p.conclusion{font-size:19px;line-height:1.45;max-width:none;margin:14px 0}
.warnings{margin:14px 0;padding:10px 14px 10px 32px;border-radius:var(--radius);background:var(--attention-ground);color:var(--attention);font-weight:600}
.warnings li{margin:3px 0}
nav{display:flex;flex-wrap:wrap;gap:4px 18px;margin:16px 0 26px}
a{color:var(--accent);text-decoration-color:color-mix(in srgb,currentcolor 35%,transparent);text-underline-offset:3px}
.wide{overflow-x:auto;margin:16px 0;padding:2px 12px;border:1px solid var(--line);border-radius:var(--radius);background:var(--surface)}
table{border-collapse:collapse;width:100%;font-size:13px;font-variant-numeric:tabular-nums}
th,td{padding:6px 8px;border-bottom:1px solid var(--line);text-align:right;vertical-align:top;overflow-wrap:normal}
th{color:var(--soft);font-weight:600;vertical-align:bottom}
th:first-child,td:first-child{text-align:left;font-weight:600}
td.left,th.left{text-align:left}
tbody tr:last-child td{border-bottom:0}tbody tr:hover td{background:var(--hover)}
.chip{display:inline-block;padding:1px 9px;border-radius:99px;font-size:12.5px;font-weight:600}
.good{color:var(--good);background:var(--good-ground)}.some{color:var(--attention);background:var(--attention-ground)}.bad{color:var(--bad);background:var(--bad-ground)}.calm{color:var(--soft);background:var(--sunken)}
.loop{color:var(--soft);font-size:12px}
td.none{color:var(--soft)}
.note{color:var(--soft);font-size:13px}
.why{margin:14px 0;padding:0;list-style:none}
.why li{margin:5px 0;display:grid;grid-template-columns:210px 1fr;gap:14px;}
.why b{font-weight:600}
.plots{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,540px),1fr));gap:16px;margin:16px 0}
figure{margin:0;border:1px solid var(--line);border-radius:var(--radius);overflow:hidden;background:var(--surface)}
figure.broad,figure.narrow{grid-column:1/-1}
figure.narrow{display:none}
figure svg{display:block;width:100%;height:auto}
details{margin:10px 0;background:var(--surface);border:1px solid var(--line);border-radius:var(--radius)}
summary{padding:9px 14px;cursor:pointer;font-weight:600}
details[open] summary{border-bottom:1px solid var(--line)}
details>div{padding:4px 14px 14px}
pre{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--sunken);border-radius:6px;padding:12px 14px;font:12.5px/1.5 var(--mono)}
code{font:12.5px var(--mono);background:var(--sunken);padding:1px 4px;border-radius:4px}
.facts li{margin:4px 0;overflow-wrap:anywhere}
@media (max-width:760px){main{padding:20px 14px 60px}h1{font-size:25px}p.conclusion{font-size:17px}
figure.broad{display:none}figure.narrow{display:block}
.why li{grid-template-columns:1fr;gap:0;margin:10px 0}
thead{display:none}table,tbody,tr,td{display:block}tr{padding:8px 0;border-bottom:1px solid var(--line)}
td{border:0;padding:2px 0}td.none{display:none}td[data-head]{display:flex;gap:12px;justify-content:space-between;text-align:right}
td[data-head]::before{content:attr(data-head);color:var(--soft);flex:none}
pre{font-size:9.5px}}
@media print{details>div{display:block}}
`
