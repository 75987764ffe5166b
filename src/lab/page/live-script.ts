/** Follows `/lab/v1/live` and keeps the page up to date. All words that came from outside are set as text. */
export const LIVE = `'use strict'
;(function () {
  var MOST_STEPS = 6000
  var TONE = { valid: 'good', 'valid for throughput only': 'some', 'lower bound only': 'some', 'not judged': '', 'latency invalid': 'bad', invalid: 'bad' }
  var RESULT = { ok: 'good', warn: 'some', busy: '', fail: 'bad', 'n/a': '' }
  var figure = labCharts.figure
  var steps = []
  var latest = null
  var shown = null
  var due = false

  function $(id) { return document.getElementById(id) }

  function element(tag, text, className) {
    var made = document.createElement(tag)
    if (text !== undefined) made.textContent = text
    if (className) made.className = className
    return made
  }

  function fill(id, children) { $(id).replaceChildren.apply($(id), children) }

  function ms(value) { return figure(value) + ' ms' }

  function percent(share) { return (share * 100).toFixed(share < 0.1 ? 1 : 0) + ' %' }

  /** Steps may come again after the connection was lost: what is already there is replaced. */
  function take(event) {
    var run = event.run
    if (run === null || latest === null || latest.run === null || latest.run.id !== run.id) steps = []
    if (event.steps.length > 0) {
      var from = event.steps[0].atMs
      while (steps.length > 0 && steps[steps.length - 1].atMs >= from) steps.pop()
      steps = steps.concat(event.steps).slice(-MOST_STEPS)
    }
    latest = event
    // Nobody looks at a page in the background, and a frame may be a while away.
    if (!due) {
      due = true
      requestAnimationFrame(show)
    }
  }

  function show() {
    due = false
    var run = latest.run
    $('empty').hidden = run !== null
    $('content').hidden = run === null
    if (run === null) return waiting()
    if (shown !== run.id) {
      shown = run.id
      labCharts.resize()
    }
    showHead(run)
    showTiles(run)
    showMarks(run)
    showWorkers(run)
    showStalls(run)
    showVerdict(latest.verdict)
    $('validity').hidden = latest.validity === null
    $('validity-text').textContent = latest.validity || ''
    labCharts.draw(run, steps, latest.percentiles)
  }

  function waiting() {
    state('waiting', '')
    $('run').textContent = ''
    $('time').textContent = ''
    $('progress').style.width = '0'
  }

  /** The head is whole from the first word about the state on: nothing in it moves when that comes. */
  function state(text, tone) {
    document.body.classList.add('told')
    $('state').textContent = text
    $('state').className = 'chip ' + tone
  }

  function showHead(run) {
    var expect = run.expect
    var asked = expect === null ? '' : [
      expect.loop + ' loop',
      expect.rate === undefined ? '' : figure(expect.rate) + '/s ' + (expect.pattern || ''),
      expect.connections === undefined ? '' : figure(expect.connections) + ' connections',
    ].filter(Boolean).join(', ')
    fill('run', [document.createTextNode(run.label || run.id), element('small', [run.id, asked, run.delays + ' delays, seed ' + run.seed].filter(Boolean).join(' · '))])
    state(run.state, run.state === 'measuring' ? 'good' : run.state === 'warm-up' ? 'some' : '')
    var whole = run.warmupMs + run.measureMs
    // As wide at its beginning as at its end.
    var elapsed = (run.elapsedMs / 1000).toFixed(1).padStart((whole / 1000).toFixed(1).length, '\\u2007')
    $('time').textContent = elapsed + (run.measureMs > 0 ? ' of ' + (whole / 1000).toFixed(0) : '') + ' s'
    $('progress').style.width = run.measureMs > 0 ? Math.min(100, (100 * run.elapsedMs) / whole) + '%' : '100%'
  }

  function tile(name, value, more, bad) {
    var made = element('div', undefined, bad ? 'tile bad' : 'tile')
    made.append(element('span', name), element('b', value))
    if (more) made.append(element('em', more))
    return made
  }

  function showTiles(run) {
    var totals = run.totals
    var last = steps.slice(-10)
    var recent = last.reduce(function (sum, step) { return sum + step.arrivals }, 0)
    var stepMs = steps.length > 1 ? steps[1].atMs - steps[0].atMs : 100
    var busiest = run.workers.reduce(function (most, worker) { return Math.max(most, worker.cpuShare) }, 0)
    var lag = run.workers.reduce(function (most, worker) { return Math.max(most, worker.lag.percentiles.p99 || 0) }, 0)
    fill('tiles', [
      tile('arrival rate', last.length === 0 ? '–' : figure((recent * 1000) / (last.length * stepMs)) + '/s', 'mean ' + figure(totals.rate) + '/s'),
      tile('completed', figure(totals.completed)),
      tile('in flight', figure(totals.inFlight)),
      tile('errors', figure(totals.errors), 'answers of 400 and above', totals.errors > 0),
      tile('aborted', figure(totals.aborted), 'by the client', totals.aborted > 0),
      tile('connections', figure(run.connections.now), 'peak ' + figure(run.connections.peak) + ', ' + figure(run.connections.opened) + ' opened'),
      tile('busiest worker', percent(busiest), 'of a core'),
      tile('loop lag p99', ms(lag), '', lag > 100),
    ])
    var equal = totals.arrivals === totals.completed + totals.aborted + totals.inFlight
    fill('balance', [
      element('b', figure(totals.arrivals)), document.createTextNode(' arrivals ' + (equal ? '=' : '≠') + ' '),
      element('b', figure(totals.completed)), document.createTextNode(' completed + '),
      element('b', figure(totals.aborted)), document.createTextNode(' aborted + '),
      element('b', figure(totals.inFlight)), document.createTextNode(' in flight'),
    ])
  }

  function showMarks(run) {
    fill('marks', run.marks.map(function (mark) { return element('li', mark) }))
  }

  function table(head, rows) {
    var made = element('table')
    var line = function (tag, cells) {
      var row = element('tr')
      // An empty cell is the head of nothing.
      cells.forEach(function (cell) { row.append(element(cell === '' ? 'td' : tag, cell)) })
      return row
    }
    made.append(line('th', head))
    rows.forEach(function (cells) { made.append(line('td', cells)) })
    return made
  }

  function showWorkers(run) {
    var rows = run.workers.map(function (worker) {
      return ['worker ' + worker.worker, percent(worker.cpuShare), ms(worker.lag.percentiles.p50 || 0), ms(worker.lag.percentiles.p99 || 0), ms(worker.lag.max)]
    })
    fill('workers', [rows.length === 0 ? element('p', 'no worker has reported yet', 'quiet') : table(['', 'CPU', 'lag p50', 'lag p99', 'lag max'], rows)])
  }

  function showStalls(run) {
    var inOrder = run.stalls.slice().sort(function (a, b) { return a.fromMs - b.fromMs })
    var rows = inOrder.slice(-8).map(function (stall) {
      var length = stall.toMs === null ? 'goes on' : ms(stall.toMs - stall.fromMs)
      return [stall.kind + ', worker ' + stall.worker, (stall.fromMs / 1000).toFixed(2) + ' s', length]
    })
    var faults = run.faults.map(function (fault) { return element('p', 'switched on: ' + fault) })
    fill('stalls', faults.concat([rows.length === 0 ? element('p', 'none so far', 'quiet') : table(['', 'from', 'length'], rows)]))
  }

  function showVerdict(verdict) {
    if (verdict === null) {
      return fill('verdict-body', [element('p', 'There is one as soon as the report of a load tool was posted.', 'quiet')])
    }
    var reasons = element('ul', undefined, 'reasons')
    verdict.reasons.forEach(function (reason) { reasons.append(element('li', reason)) })
    var checks = element('ul', undefined, 'checks')
    verdict.checks.forEach(function (check) {
      var item = element('li')
      item.title = check.reason
      item.append(element('code', check.id), element('span', check.name), element('span', check.result, 'chip ' + RESULT[check.result]))
      checks.append(item)
    })
    fill('verdict-body', [element('span', verdict.verdict, 'chip ' + TONE[verdict.verdict]), element('span', ' ' + verdict.loopClass, 'quiet'), reasons, checks])
  }

  $('compare').textContent += location.origin
  $('example').textContent = "curl -X POST " + location.origin + "/lab/v1/runs \\\\\\n  -d '{\\"label\\":\\"first\\",\\"warmupS\\":1,\\"measureS\\":30,\\"seed\\":1,\\"delays\\":\\"quasi\\"}'"
  labCharts.start(function () { if (latest !== null) show() })
  var source = new EventSource('/lab/v1/live')
  source.onmessage = function (message) { take(JSON.parse(message.data)) }
  source.onerror = function () { state('connection lost', 'bad') }
})()
`
