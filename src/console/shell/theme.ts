/** Light, dark, or as the system has it. */
import { signal } from '@preact/signals'
import { keep, kept } from './kept.ts'

export type Theme = 'system' | 'light' | 'dark'

const KEPT = 'sluice-theme'

export const theme = signal<Theme>(keptTheme())

export function setTheme(chosen: Theme): void {
  theme.value = chosen
  keep(KEPT, chosen)
  applyTheme()
}

export function applyTheme(): void {
  document.documentElement.dataset.theme = theme.value
}

function keptTheme(): Theme {
  const word = kept(KEPT)
  return word === 'light' || word === 'dark' ? word : 'system'
}
