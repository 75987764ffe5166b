/** Charts as SVG text, drawn without a browser. The only place that loads the plotting library here. */
import * as echarts from 'echarts'
import { colourOf, darkModeCss } from './palette.js'

type ChartOption = echarts.EChartsOption

interface ChartSize {
  readonly width: number
  readonly height: number
}

/** Without quotation marks: the library writes it into an attribute as it is. */
const FONT = 'system-ui, Segoe UI, Helvetica Neue, Liberation Sans, DejaVu Sans, sans-serif'

// Without a browser the library guesses widths, and too small: a wide guess keeps legends apart in every font.
echarts.setPlatformAPI({ measureText: (text, font) => ({ width: text.length * 0.6 * fontPixels(font) }) })

function fontPixels(font: string | undefined): number {
  return Number(/(\d+(?:\.\d+)?)px/.exec(font ?? '')?.[1] ?? 12)
}

/**
 * One SVG element, without animation or script. It scales to the width of what holds it, has a title for readers who
 * cannot see it, and no style of its own.
 */
export function renderChart(option: ChartOption, size: ChartSize, title: string): string {
  const chart = echarts.init(null, null, { renderer: 'svg', ssr: true, ...size })
  try {
    chart.setOption({
      animation: false,
      backgroundColor: colourOf('paper'),
      textStyle: { fontFamily: FONT, color: colourOf('ink') },
      ...option,
    })
    return withTitle(stripStyle(chart.renderToSVGString()), size, title)
  } finally {
    chart.dispose()
  }
}

/** The same as a file of its own: it follows the reader's dark or light system by itself. */
export function standaloneSvg(svg: string): string {
  return svg.replace(
    /^<svg([^>]*)>/,
    (_, attributes: string) => `<svg${attributes}><style>${darkModeCss()}</style>`,
  )
}

/** The library's rules for a pointer, which a picture has no use for. */
function stripStyle(svg: string): string {
  return svg
    .replace(/<style\s*>[\s\S]*?<\/style>/, '')
    .replace(/ class="zr[^"]*"/g, '')
    .replace(/ pointer-events="[^"]*"/g, '')
}

function withTitle(svg: string, { width, height }: ChartSize, title: string): string {
  return svg.replace(
    /^<svg[^>]*>/,
    `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img"><title>${escapeXml(title)}</title>`,
  )
}

export function escapeXml(text: string): string {
  return text.replace(
    /[&<>"']/g,
    (sign) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' })[sign]!,
  )
}
