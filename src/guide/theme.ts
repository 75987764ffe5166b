/** Light, dark, or as the system has it; kept where the console keeps it, so both look the same. */

export type Theme = 'system' | 'light' | 'dark'

const KEPT = 'sluice-theme'
const ORDER: readonly Theme[] = ['system', 'light', 'dark']

let theme: Theme = kept()

export function themeOf(): Theme {
  return theme
}

export function applyTheme(): void {
  document.documentElement.dataset.theme = theme
}

export function nextTheme(): void {
  theme = ORDER[(ORDER.indexOf(theme) + 1) % ORDER.length]!
  try {
    localStorage.setItem(KEPT, theme)
  } catch {
    // A browser may keep nothing; the choice then lasts as long as the page.
  }
  applyTheme()
}

function kept(): Theme {
  try {
    return ORDER.find((each) => each === localStorage.getItem(KEPT)) ?? 'system'
  } catch {
    return 'system'
  }
}
