/** The style of the report's page: one column of text, two of plots, light and dark; in a narrow window rows become blocks. */
export const PAGE_STYLE = `
:root{color-scheme:light dark;--paper:#fdfdfc;--ink:#1d2530;--muted:#5f6b7a;--line:#dde1e6;--panel:#f4f5f3;
--good:#1f7a3e;--good-bg:#e3f3e7;--some:#8a5a00;--some-bg:#fbefd5;--bad:#b3261e;--bad-bg:#fbe6e3;--calm:#3c4a5c;--calm-bg:#e7eaee}
@media (prefers-color-scheme:dark){:root{--paper:#15181d;--ink:#e4e8ee;--muted:#98a3b3;--line:#2b313a;--panel:#1c2027;
--good:#7fd99a;--good-bg:#183222;--some:#f0c46c;--some-bg:#38290b;--bad:#ff9c92;--bad-bg:#3d1a17;--calm:#b9c4d2;--calm-bg:#262d37}}
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:15px/1.55 system-ui,"Segoe UI","Helvetica Neue","Liberation Sans","DejaVu Sans",sans-serif}
main{max-width:1320px;overflow-wrap:anywhere;margin:0 auto;padding:36px 28px 80px}
h1{font-size:30px;line-height:1.2;margin:0 0 6px;letter-spacing:-.01em}
h2{font-size:21px;margin:56px 0 8px;padding-top:18px;border-top:1px solid var(--line)}
h3{font-size:16px;margin:28px 0 8px}
p{max-width:78ch;margin:8px 0}
.meta{color:var(--muted)}
p.conclusion{font-size:19px;line-height:1.45;max-width:none;margin:14px 0}
.warnings{margin:14px 0;padding:10px 14px 10px 32px;border-radius:8px;background:var(--some-bg);color:var(--some);font-weight:600}
.warnings li{margin:3px 0}
nav{display:flex;flex-wrap:wrap;gap:4px 18px;margin:16px 0 26px}
a{color:inherit;text-decoration-color:var(--muted);text-underline-offset:3px}
.wide{overflow-x:auto;margin:16px 0}
table{border-collapse:collapse;width:100%;font-size:13px;font-variant-numeric:tabular-nums}
th,td{padding:6px 8px;border-bottom:1px solid var(--line);text-align:right;vertical-align:top;overflow-wrap:normal}
th{color:var(--muted);font-weight:600;vertical-align:bottom}
th:first-child,td:first-child{text-align:left;font-weight:600}
td.left,th.left{text-align:left}
tbody tr:hover td{background:var(--panel)}
.chip{display:inline-block;padding:1px 9px;border-radius:99px;font-size:12.5px;font-weight:600}
.good{color:var(--good);background:var(--good-bg)}.some{color:var(--some);background:var(--some-bg)}.bad{color:var(--bad);background:var(--bad-bg)}.calm{color:var(--calm);background:var(--calm-bg)}
.loop{color:var(--muted);font-size:12px}
td.none{color:var(--muted)}
.note{color:var(--muted);font-size:13px}
.why{margin:14px 0;padding:0;list-style:none}
.why li{margin:5px 0;display:grid;grid-template-columns:210px 1fr;gap:14px;}
.why b{font-weight:600}
.plots{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,540px),1fr));gap:16px;margin:16px 0}
figure{margin:0;border:1px solid var(--line);border-radius:8px;overflow:hidden;background:var(--paper)}
figure.broad,figure.narrow{grid-column:1/-1}
figure.narrow{display:none}
figure svg{display:block;width:100%;height:auto}
details{margin:10px 0;border:1px solid var(--line);border-radius:8px}
summary{padding:9px 14px;cursor:pointer;font-weight:600}
details[open] summary{border-bottom:1px solid var(--line)}
details>div{padding:4px 14px 14px}
pre{white-space:pre-wrap;overflow-wrap:anywhere;background:var(--panel);border-radius:6px;padding:12px 14px;font:12.5px/1.5 ui-monospace,"DejaVu Sans Mono","Liberation Mono",monospace}
code{font:12.5px ui-monospace,"DejaVu Sans Mono","Liberation Mono",monospace;background:var(--panel);padding:1px 4px;border-radius:4px}
.facts li{margin:4px 0;overflow-wrap:anywhere}
@media (max-width:760px){main{padding:20px 14px 60px}h1{font-size:25px}p.conclusion{font-size:17px}
figure.broad{display:none}figure.narrow{display:block}
.why li{grid-template-columns:1fr;gap:0;margin:10px 0}
thead{display:none}table,tbody,tr,td{display:block}tr{padding:8px 0;border-bottom:1px solid var(--line)}
td{border:0;padding:2px 0}td.none{display:none}td[data-head]{display:flex;gap:12px;justify-content:space-between;text-align:right}
td[data-head]::before{content:attr(data-head);color:var(--muted);flex:none}
pre{font-size:9.5px}}
@media print{details>div{display:block}}
`
