/** The page's three charts. Classic script: it defines `labCharts` for the one that follows it. */
export const CHARTS = `'use strict'
var labCharts = (function () {
  var SERIES = ['server', 'client', 'theory', 'violet', 'teal', 'brown', 'error', 'olive']
  var NINES = [0, 50, 90, 99, 99.9, 99.99].map(nines)
  var charts = {}
  var palette = {}

  function readPalette() {
    // A canvas needs colours as they are at this moment: a variable may hold one for light and one for dark.
    var probe = document.body.appendChild(document.createElement('i'))
    ;['text', 'soft', 'line', 'surface', 'client', 'server', 'theory', 'error', 'stall', 'violet', 'slate', 'teal', 'brown', 'olive'].forEach(
      function (name) {
        probe.style.color = 'var(--' + name + ')'
        palette[name] = getComputedStyle(probe).color
      },
    )
    probe.remove()
    palette.font = getComputedStyle(document.body).fontFamily
  }

  /** Draws nothing by itself; redraw is called when the theme has changed. */
  function start(redraw) {
    readPalette()
    ;['series', 'percentiles', 'latency'].forEach(function (id) {
      charts[id] = echarts.init(document.getElementById(id), null, { renderer: 'canvas' })
    })
    window.addEventListener('resize', resize)
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', function () {
      readPalette()
      redraw()
    })
  }

  function resize() {
    Object.keys(charts).forEach(function (id) { charts[id].resize() })
  }

  /** 1 for 90 %, 2 for 99 %. */
  function nines(percentile) { return -Math.log10(1 - percentile / 100) }

  function figure(value) {
    if (value === 0) return '0'
    if (Math.abs(value) < 10) return String(Number(value.toPrecision(3)))
    return value.toFixed(0).replace(/\\B(?=(\\d{3})+(?!\\d))/g, '\\u202f')
  }

  function axis(name, more) {
    return Object.assign({
      type: 'value', name: name, nameLocation: 'middle', nameGap: 46,
      nameTextStyle: { color: palette.soft, fontSize: 12 },
      axisLabel: { color: palette.soft, fontSize: 11, formatter: figure, hideOverlap: true },
      axisLine: { show: true, lineStyle: { color: palette.line } },
      axisTick: { show: false },
      splitLine: { lineStyle: { color: palette.line } },
    }, more)
  }

  function line(name, colour, data, more) {
    return Object.assign({
      name: name, type: 'line', data: data, showSymbol: false, animation: false, sampling: 'minmax',
      itemStyle: { color: colour }, lineStyle: { color: colour, width: 1.6 }, emphasis: { disabled: true },
    }, more)
  }

  function legend(names) {
    return { data: names, right: 14, top: 6, itemWidth: 16, itemHeight: 6, icon: 'roundRect', textStyle: { color: palette.text, fontSize: 12 } }
  }

  /** Rich text: the library's other tooltips are markup with styles, which the page's policy forbids. */
  function tooltip(more) {
    return Object.assign({
      trigger: 'axis', renderMode: 'richText', confine: true, backgroundColor: palette.surface,
      borderColor: palette.line, textStyle: { color: palette.text, fontSize: 12 }, valueFormatter: figure,
    }, more)
  }

  function shades(run, named) {
    var seen = {}
    // A fault stops every worker at once: one shade is enough.
    var stalls = run.stalls.filter(function (stall) {
      var key = stall.kind + Math.round(stall.fromMs / 50)
      return seen[key] ? false : (seen[key] = true)
    })
    var areas = stalls.map(function (stall) {
      return [
        { name: named && stall.kind !== 'unplanned' ? stall.kind : '', xAxis: stall.fromMs / 1000, itemStyle: { color: palette.stall, opacity: 0.22 } },
        { xAxis: (stall.toMs === null ? run.elapsedMs : stall.toMs) / 1000 },
      ]
    })
    if (run.warmupMs > 0) {
      areas.push([
        { name: named ? 'warm-up' : '', xAxis: 0, itemStyle: { color: palette.soft, opacity: 0.1 } },
        { xAxis: Math.min(run.warmupMs, run.elapsedMs) / 1000 },
      ])
    }
    return { silent: true, animation: false, data: areas, label: { color: palette.soft, fontSize: 11, position: 'insideTop' } }
  }

  function seconds(run, more) {
    return axis('', Object.assign({ min: 0, max: Math.max(1, run.elapsedMs / 1000), splitLine: { show: false }, axisLabel: {
      color: palette.soft, fontSize: 11, hideOverlap: true, showMaxLabel: false, formatter: function (at) { return figure(at) + ' s' },
    } }, more))
  }

  function drawSeries(run, steps) {
    var panels = [{ top: 44, height: 250 }, { top: 330, height: 84 }, { top: 450, height: 72 }]
    var names = ['requests per step', 'in flight', 'loop lag, ms']
    function of(name, panel, colour, read, filled) {
      return line(name, palette[colour], steps.map(function (step) { return [step.atMs / 1000, read(step)] }), {
        xAxisIndex: panel, yAxisIndex: panel, step: 'end',
        areaStyle: filled ? { color: palette[colour], opacity: 0.14 } : undefined,
        markArea: filled ? shades(run, panel === 0) : undefined,
      })
    }
    charts.series.setOption({
      animation: false, textStyle: { fontFamily: palette.font },
      tooltip: tooltip(),
      axisPointer: { link: [{ xAxisIndex: 'all' }], lineStyle: { color: palette.soft } },
      legend: legend(['arrivals', 'completions', 'errors', 'in flight', 'loop lag']),
      grid: panels.map(function (panel) { return Object.assign({ left: 66, right: 20 }, panel) }),
      xAxis: panels.map(function (_, index) {
        return seconds(run, { gridIndex: index, axisLabel: index === 2 ? seconds(run).axisLabel : { show: false } })
      }),
      yAxis: names.map(function (name, index) { return axis(name, { gridIndex: index, min: 0, splitNumber: index === 0 ? 5 : 2 }) }),
      series: [
        of('arrivals', 0, 'server', function (step) { return step.arrivals }, true),
        of('completions', 0, 'theory', function (step) { return step.completions }),
        of('errors', 0, 'error', function (step) { return step.errors }),
        of('in flight', 1, 'violet', function (step) { return step.inFlightMax }, true),
        of('loop lag', 2, 'slate', function (step) { return step.lagMax }, true),
      ],
    }, { notMerge: true })
  }

  function drawLatency(run, steps) {
    function of(name, colour) {
      return line(name, palette[colour], steps.filter(function (step) { return step[name] > 0 }).map(function (step) {
        return [step.atMs / 1000, step[name]]
      }))
    }
    var p99 = of('p99', 'client')
    p99.markArea = shades(run, false)
    charts.latency.setOption({
      animation: false, textStyle: { fontFamily: palette.font },
      tooltip: tooltip({ valueFormatter: function (ms) { return figure(ms) + ' ms' } }),
      legend: legend(['p50', 'p99']),
      grid: { left: 66, right: 20, top: 34, bottom: 34 },
      xAxis: seconds(run),
      yAxis: axis('ms', { type: 'log', splitNumber: 4 }),
      series: [of('p50', 'server'), p99],
    }, { notMerge: true })
  }

  function drawPercentiles(curves) {
    var names = Object.keys(curves).sort(function (a, b) { return top(curves[b]) - top(curves[a]) }).slice(0, SERIES.length)
    var reach = Math.max.apply(null, names.map(function (name) { return furthest(curves[name]) }).concat([2]))
    var ticks = NINES.filter(function (at) { return at <= reach + 0.001 })
    charts.percentiles.setOption({
      animation: false, textStyle: { fontFamily: palette.font },
      tooltip: tooltip({ trigger: 'none' }),
      legend: legend(names),
      grid: { left: 66, right: 28, top: 34, bottom: 34 },
      xAxis: axis('', { min: 0, max: reach, interval: 1, axisLabel: {
        customValues: ticks, color: palette.soft, fontSize: 11,
        formatter: function (at) { return Number((100 - 100 * Math.pow(10, -at)).toFixed(2)) + ' %' },
      } }),
      yAxis: axis('ms', { type: 'log', splitNumber: 4 }),
      series: names.map(function (name, index) {
        return line(name, palette[SERIES[index]], curves[name].filter(function (point) { return point[1] > 0 }).map(function (point) {
          return [nines(point[0]), point[1]]
        }), { lineStyle: { color: palette[SERIES[index]], width: 2.2 } })
      }),
    }, { notMerge: true })
  }

  function top(points) { return points.length === 0 ? 0 : points[points.length - 1][1] }
  function furthest(points) { return points.length === 0 ? 0 : Math.min(5, nines(points[points.length - 1][0])) }

  return { start: start, resize: resize, figure: figure, draw: function (run, steps, curves) {
    drawSeries(run, steps)
    drawLatency(run, steps)
    drawPercentiles(curves)
  } }
})()
`
