/** Light, dark, or as the system has it. Kept in the browser; nothing else is. */
import { signal } from '@preact/signals'

export type Theme = 'system' | 'light' | 'dark'

const KEPT = 'sluice-theme'

export const theme = signal<Theme>(kept())

export function setTheme(chosen: Theme): void {
  theme.value = chosen
  try {
    localStorage.setItem(KEPT, chosen)
  } catch {
    // A browser may keep nothing; the choice then lasts as long as the page.
  }
  applyTheme()
}

export function applyTheme(): void {
  document.documentElement.dataset.theme = theme.value
}

function kept(): Theme {
  try {
    const word = localStorage.getItem(KEPT)
    return word === 'light' || word === 'dark' ? word : 'system'
  } catch {
    return 'system'
  }
}
