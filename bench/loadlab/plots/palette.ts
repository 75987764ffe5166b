/**
 * The colours of all plots. A plot is drawn in the light ones; `darkRules` swaps each for its dark counterpart where the
 * reader's system is dark. So no two roles may share a light colour.
 */

import { tokenColour } from './tokens.js'

interface ThemeColour {
  readonly light: string
  readonly dark: string
}

const THEME_COLOURS = {
  paper: tokenColour('surface'),
  ink: tokenColour('text'),
  muted: tokenColour('soft'),
  grid: tokenColour('line'),
  client: { light: '#d9480f', dark: '#ff8a4c' },
  server: tokenColour('accent'),
  theory: { light: '#2f8f4e', dark: '#5fce83' },
  error: { light: '#c2255c', dark: '#f7739f' },
  stall: { light: '#e8a317', dark: '#e9b44c' },
  violet: { light: '#7048c8', dark: '#b197fc' },
  teal: { light: '#0b8494', dark: '#4fcbd8' },
  brown: { light: '#8a5a2b', dark: '#d3a574' },
  olive: { light: '#6b7c0f', dark: '#bccf5a' },
  slate: { light: '#44546a', dark: '#a9b8cc' },
  rose: { light: '#b0413e', dark: '#f0908d' },
  gold: { light: '#b58900', dark: '#e6c34a' },
  sky: { light: '#4aa8d8', dark: '#a6dcff' },
  mint: { light: '#3fb08a', dark: '#9be8cc' },
  lilac: { light: '#b07fd6', dark: '#dcc3f7' },
  lime: { light: '#93b71a', dark: '#e6ff3f' },
  navy: { light: '#1f2f8a', dark: '#5668ff' },
  maroon: { light: '#6a1b2e', dark: '#b8324f' },
  pine: { light: '#0d4f4f', dark: '#2fa3a0' },
  sand: { light: '#9a937c', dark: '#cfc8ae' },
  salmon: { light: '#e59a80', dark: '#ffb3c0' },
  rust: { light: '#a63c06', dark: '#ffab70' },
  amber: { light: '#f08c00', dark: '#ffd8a8' },
} as const satisfies Record<string, ThemeColour>

export type ColourRole = keyof typeof THEME_COLOURS

export const colourOf = (role: ColourRole): string => THEME_COLOURS[role].light

/** Colours for lines of equal standing, in the order in which they are given out; they repeat after the last. */
const SERIES =
  `server violet teal brown error olive slate rose theory gold sky lilac pine lime navy mint maroon sand
  salmon`.split(/\s+/) as ColourRole[]

/** Of our own drivers, which no other line has. */
const OURS: readonly ColourRole[] = ['client', 'rust', 'amber']

/** How many lines have a colour of their own. */
export const SERIES_COLOURS = SERIES.length

export const seriesColour = (index: number): string => colourOf(SERIES[index % SERIES.length]!)

export const ownColour = (index: number): string => colourOf(OURS[index % OURS.length]!)

/** CSS that turns a plot dark; for the style element of an SVG file or of the page that holds the plots. */
export function darkModeCss(scope = ''): string {
  const rules = Object.values(THEME_COLOURS).flatMap(({ light, dark }) => [
    `${scope} [fill="${light}"]{fill:${dark}}`,
    `${scope} [stroke="${light}"]{stroke:${dark}}`,
  ])
  return `@media (prefers-color-scheme: dark){${rules.join('')}}`
}
