/** Stands behind the tokens that all pages share; the charts take their colours from here. */
export const STYLE = `
:root{--client:light-dark(#c2410c,#ff8a4c);--server:var(--accent);--theory:light-dark(#17703f,#63cf94);--error:light-dark(#c2255c,#f7739f);--stall:light-dark(#e8a317,#e6b455);
--violet:light-dark(#7048c8,#b197fc);--slate:light-dark(#44546a,#a9b8cc);--teal:light-dark(#0b8494,#4fcbd8);--brown:light-dark(#8a5a2b,#d3a574);--olive:light-dark(#6b7c0f,#bccf5a)}
*{box-sizing:border-box}
[hidden]{display:none!important}
body{margin:0;background:var(--ground);color:var(--text);font:14px/1.55 var(--sans);font-variant-numeric:tabular-nums}
header{display:flex;flex-wrap:wrap;align-items:center;gap:4px 16px;padding:14px max(24px,calc((100vw - 1512px)/2)) 12px;background:var(--surface);border-bottom:1px solid var(--line);position:sticky;top:0;z-index:2}
h1{font-size:15px;font-weight:640;margin:0;letter-spacing:-.01em}
h2{font-size:13px;margin:0 0 8px;color:var(--soft);font-weight:600}
.run{margin:0;font-weight:600;overflow:hidden;text-overflow:ellipsis;white-space:nowrap;max-width:48vw}
.run small{color:var(--soft);font-weight:400;margin-left:8px}
.time{margin:0 0 0 auto;color:var(--soft)}
body:not(.told) header>:not(h1){display:none}
.track{flex-basis:100%;height:3px;background:var(--line);border-radius:2px;overflow:hidden}
#progress{height:100%;width:0;background:var(--server)}
.chip{display:inline-block;padding:1px 10px;border-radius:99px;font-size:12px;font-weight:600;color:var(--soft);background:var(--sunken)}
.chip.good{color:var(--good);background:var(--good-ground)}.chip.some{color:var(--attention);background:var(--attention-ground)}.chip.bad{color:var(--bad);background:var(--bad-ground)}
main{max-width:1560px;margin:0 auto;padding:18px 24px 48px}
.empty{max-width:640px;margin:12vh auto;padding:0 24px}
.empty h2{font-size:22px;color:var(--text)}
pre{background:var(--surface);border:1px solid var(--line);border-radius:var(--radius);padding:10px 14px;white-space:pre-wrap;overflow-wrap:anywhere;font:12.5px/1.55 var(--mono)}
.tiles{display:grid;grid-template-columns:repeat(auto-fit,minmax(128px,1fr));gap:12px}
.tile{background:var(--surface);border:1px solid var(--line);border-radius:var(--radius);padding:10px 14px}
.tile span{display:block;color:var(--soft);font-size:12px}
.tile b{font-size:20px;font-weight:650;letter-spacing:-.01em}
.tile b{display:block;white-space:nowrap}
.tile em{display:block;font-style:normal;color:var(--soft);font-size:12px}
.tile{box-shadow:var(--shadow)}
.tile.bad b{color:var(--bad)}
.balance{color:var(--soft);margin:10px 2px 14px}
.balance b{color:var(--text);font-weight:600}
.marks{margin:0;padding:0;list-style:none}
.marks li{margin:0 0 8px;padding:8px 14px;border-radius:var(--radius);background:var(--bad-ground);color:var(--bad);font-weight:600}
.grid{display:grid;grid-template-columns:1.35fr 1fr;gap:14px;margin:0 0 14px}
.panel{background:var(--surface);border:1px solid var(--line);border-radius:var(--radius);margin:0;min-width:0}
.tall{grid-row:span 2}
figcaption{padding:10px 16px 0;color:var(--soft);font-size:13px;font-weight:600}
.chart{height:262px}
.tall .chart{height:566px}
.text{padding:14px 16px}
.text h2:not(:first-child){margin-top:18px}
.reasons{margin:10px 0 14px;padding-left:18px}
.reasons li{margin:4px 0}
.checks{display:grid;grid-template-columns:repeat(auto-fill,minmax(230px,1fr));gap:2px 14px;margin:0;padding:0;list-style:none}
.checks li{display:flex;gap:8px;align-items:baseline;padding:2px 0;cursor:default}
.checks code{color:var(--soft);min-width:28px;font:12px var(--mono)}
.checks .chip{margin-left:auto;font-size:11px;padding:0 8px}
table{border-collapse:collapse;width:100%}
th,td{padding:4px 10px 4px 0;text-align:right;border-bottom:1px solid var(--line)}
th{color:var(--soft);font-weight:500;font-size:12px}
th:first-child,td:first-child{text-align:left}
.quiet{color:var(--soft)}
summary{cursor:pointer;font-weight:600}
#validity pre{border:0;padding:8px 0 0;margin:0}
@media (max-width:1000px){.grid{grid-template-columns:1fr}.run{order:1;flex-basis:100%;max-width:100%;white-space:normal}.track{order:2}}
`
