/** Light and dark by the reader's system; the charts take their colours from here. */
export const STYLE = `
:root{color-scheme:light dark;--paper:#f6f6f4;--panel:#fdfdfc;--ink:#1d2530;--muted:#5f6b7a;--line:#dfe3e7;
--client:#d9480f;--server:#1c6cb4;--theory:#2f8f4e;--error:#c2255c;--stall:#e8a317;--violet:#7048c8;--slate:#44546a;--teal:#0b8494;--brown:#8a5a2b;--olive:#6b7c0f;
--good:#1f7a3e;--good-bg:#dff1e4;--some:#8a5a00;--some-bg:#fbecca;--bad:#b3261e;--bad-bg:#fae1dd;--calm:#3c4a5c;--calm-bg:#e7eaee}
@media (prefers-color-scheme:dark){:root{--paper:#101318;--panel:#171b21;--ink:#e4e8ee;--muted:#98a3b3;--line:#2a303a;
--client:#ff8a4c;--server:#62b0f5;--theory:#5fce83;--error:#f7739f;--stall:#e9b44c;--violet:#b197fc;--slate:#a9b8cc;--teal:#4fcbd8;--brown:#d3a574;--olive:#bccf5a;
--good:#7fd99a;--good-bg:#183222;--some:#f0c46c;--some-bg:#38290b;--bad:#ff9c92;--bad-bg:#3d1a17;--calm:#b9c4d2;--calm-bg:#262d37}}
*{box-sizing:border-box}
[hidden]{display:none!important}
body{margin:0;background:var(--paper);color:var(--ink);font:14px/1.5 system-ui,"Segoe UI","Helvetica Neue","Liberation Sans","DejaVu Sans",sans-serif;font-variant-numeric:tabular-nums}
header{display:flex;flex-wrap:wrap;align-items:center;gap:4px 16px;padding:14px 24px 12px;background:var(--panel);border-bottom:1px solid var(--line);position:sticky;top:0;z-index:2}
h1{font-size:17px;margin:0;letter-spacing:-.01em}
h2{font-size:13px;margin:0 0 8px;color:var(--muted);font-weight:600}
.run{margin:0;font-weight:600;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;max-width:48vw}
.run small{color:var(--muted);font-weight:400;margin-left:8px}
.time{margin:0 0 0 auto;color:var(--muted)}
.track{flex-basis:100%;height:3px;background:var(--line);border-radius:2px;overflow:hidden}
#progress{height:100%;width:0;background:var(--server)}
.chip{display:inline-block;padding:1px 10px;border-radius:99px;font-size:12px;font-weight:600;color:var(--calm);background:var(--calm-bg)}
.chip.good{color:var(--good);background:var(--good-bg)}.chip.some{color:var(--some);background:var(--some-bg)}.chip.bad{color:var(--bad);background:var(--bad-bg)}
main{max-width:1560px;margin:0 auto;padding:18px 24px 48px}
.empty{max-width:640px;margin:12vh auto;padding:0 24px}
.empty h2{font-size:22px;color:var(--ink)}
pre{background:var(--panel);border:1px solid var(--line);border-radius:8px;padding:10px 14px;white-space:pre-wrap;overflow-wrap:anywhere;font:12.5px/1.55 ui-monospace,"DejaVu Sans Mono","Liberation Mono",monospace}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(128px,1fr));gap:12px}
.tile{background:var(--panel);border:1px solid var(--line);border-radius:10px;padding:10px 14px}
.tile span{display:block;color:var(--muted);font-size:12px}
.tile b{font-size:20px;font-weight:650;letter-spacing:-.01em}
.tile b{display:block;white-space:nowrap}
.tile em{display:block;font-style:normal;color:var(--muted);font-size:12px}
.tile.bad b{color:var(--bad)}
.balance{color:var(--muted);margin:10px 2px 14px}
.balance b{color:var(--ink);font-weight:600}
.marks{margin:0;padding:0;list-style:none}
.marks li{margin:0 0 8px;padding:8px 14px;border-radius:8px;background:var(--bad-bg);color:var(--bad);font-weight:600}
.grid{display:grid;grid-template-columns:1.35fr 1fr;gap:14px;margin:0 0 14px}
.panel{background:var(--panel);border:1px solid var(--line);border-radius:10px;margin:0;min-width:0}
.tall{grid-row:span 2}
figcaption{padding:10px 16px 0;color:var(--muted);font-size:13px;font-weight:600}
.chart{height:262px}
.tall .chart{height:566px}
.text{padding:14px 16px}
.text h2:not(:first-child){margin-top:18px}
.reasons{margin:10px 0 14px;padding-left:18px}
.reasons li{margin:4px 0}
.checks{display:grid;grid-template-columns:repeat(auto-fill,minmax(230px,1fr));gap:2px 14px;margin:0;padding:0;list-style:none}
.checks li{display:flex;gap:8px;align-items:baseline;padding:2px 0;cursor:default}
.checks code{color:var(--muted);min-width:28px;font:12px ui-monospace,"DejaVu Sans Mono",monospace}
.checks .chip{margin-left:auto;font-size:11px;padding:0 8px}
table{border-collapse:collapse;width:100%}
th,td{padding:4px 10px 4px 0;text-align:right;border-bottom:1px solid var(--line)}
th{color:var(--muted);font-weight:500;font-size:12px}
th:first-child,td:first-child{text-align:left}
.quiet{color:var(--muted)}
summary{cursor:pointer;font-weight:600}
#validity pre{border:0;padding:8px 0 0;margin:0}
@media (max-width:1000px){.grid{grid-template-columns:1fr}.run{max-width:100%;white-space:normal}}
`
