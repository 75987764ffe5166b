import { SCREENS } from '../screens/registry.ts'
import type { Screen } from '../screens/screen.ts'
import { may } from './session.ts'

/** The screens that somebody may open. */
export const openScreens = (): readonly Screen[] => SCREENS.filter(({ access }) => may(access))
