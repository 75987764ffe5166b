/**
 * The colours of all plots. A plot is drawn in the light ones; `darkRules` swaps each for its dark counterpart where the
 * reader's system is dark. So no two roles may share a light colour.
 */

interface ThemeColour {
  readonly light: string
  readonly dark: string
}

const THEME_COLOURS = {
  paper: { light: '#fdfdfc', dark: '#15181d' },
  ink: { light: '#1d2530', dark: '#e4e8ee' },
  muted: { light: '#5f6b7a', dark: '#98a3b3' },
  grid: { light: '#e4e7eb', dark: '#2b313a' },
  client: { light: '#d9480f', dark: '#ff8a4c' },
  server: { light: '#1c6cb4', dark: '#62b0f5' },
  theory: { light: '#2f8f4e', dark: '#5fce83' },
  error: { light: '#c2255c', dark: '#f7739f' },
  stall: { light: '#e8a317', dark: '#e9b44c' },
  violet: { light: '#7048c8', dark: '#b197fc' },
  teal: { light: '#0b8494', dark: '#4fcbd8' },
  brown: { light: '#8a5a2b', dark: '#d3a574' },
  olive: { light: '#6b7c0f', dark: '#bccf5a' },
  slate: { light: '#44546a', dark: '#a9b8cc' },
  rose: { light: '#b0413e', dark: '#f0908d' },
} as const satisfies Record<string, ThemeColour>

export type ColourRole = keyof typeof THEME_COLOURS

export const colourOf = (role: ColourRole): string => THEME_COLOURS[role].light

/** Colours for lines of equal standing, in the order in which they are given out; they repeat after the last. */
const SERIES: readonly ColourRole[] = [
  'client',
  'server',
  'violet',
  'teal',
  'brown',
  'error',
  'olive',
  'slate',
  'rose',
  'theory',
]

/** How many lines have a colour of their own. */
export const SERIES_COLOURS = SERIES.length

export const seriesColour = (index: number): string => colourOf(SERIES[index % SERIES.length]!)

/** CSS that turns a plot dark; for the style element of an SVG file or of the page that holds the plots. */
export function darkModeCss(scope = ''): string {
  const rules = Object.values(THEME_COLOURS).flatMap(({ light, dark }) => [
    `${scope} [fill="${light}"]{fill:${dark}}`,
    `${scope} [stroke="${light}"]{stroke:${dark}}`,
  ])
  return `@media (prefers-color-scheme: dark){${rules.join('')}}`
}
