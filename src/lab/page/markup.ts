/** The page's skeleton; what it shows is put in by its scripts. */

export const MARKUP = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Sluice lab</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/lab/live.css">
<script src="/lab/echarts.js" defer></script>
<script src="/lab/charts.js" defer></script>
<script src="/lab/live.js" defer></script>
</head>
<body>
<header>
<h1>Sluice lab</h1>
<p id="run" class="run"></p>
<span id="state" class="chip"></span>
<p id="time" class="time"></p>
<div class="track"><div id="progress"></div></div>
</header>
<main>
<section id="empty" class="empty" hidden>
<h2>No run yet</h2>
<p>This page shows a run as it happens: what arrived, what was answered, how long it took, and whether the load tool can be believed.</p>
<pre id="compare">npm run bench -- compare --quick --target {target} --control </pre>
<p>or start one by hand, then send load:</p>
<pre id="example"></pre>
</section>
<div id="content" hidden>
<section class="tiles" id="tiles"></section>
<p class="balance" id="balance"></p>
<ul class="marks" id="marks"></ul>
<section class="grid">
<figure class="panel tall"><figcaption>Requests, in steps of 100 ms</figcaption><div id="series" class="chart"></div></figure>
<figure class="panel"><figcaption>Service time by percentile</figcaption><div id="percentiles" class="chart"></div></figure>
<figure class="panel"><figcaption>Service time over the run</figcaption><div id="latency" class="chart"></div></figure>
</section>
<section class="grid">
<div class="panel text" id="verdict"><h2>Verdict</h2><div id="verdict-body"></div></div>
<div class="panel text"><h2>Workers</h2><div id="workers"></div><h2>Stalls and faults</h2><div id="stalls"></div></div>
</section>
<details class="panel text" id="validity" hidden><summary>Validity report</summary><pre id="validity-text"></pre></details>
</div>
</main>
<noscript><p class="empty">This page needs its scripts, which come from this server.</p></noscript>
</body>
</html>
`
