/** What a screen is to the navigation, the palette and the address. */
import type { IconName } from '../kit/icon.tsx'
import type { Access } from '../shell/session.ts'

export interface ScreenProps {
  /** Of the record that the address names. */
  readonly id: string | null
}

export interface Screen {
  /** Its part of the address, by which its view is found. */
  readonly path: string
  readonly title: string
  /** Under which heading it stands. */
  readonly group: 'Observe' | 'Use' | 'Organization' | 'Machine'
  readonly icon: IconName
  /** Who may open it. */
  readonly access: Access
  /** What the palette offers besides the screen, each by where it begins. */
  readonly actions?: readonly {
    readonly title: string
    readonly id?: string
    readonly query?: Readonly<Record<string, string>>
    /** Who may do it, where that is not everybody who may open the screen. */
    readonly needs?: Access
  }[]
}
