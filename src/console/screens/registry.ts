/** The screens: navigation and palette are made of this list, and each is loaded when it is opened. */
import type { Screen } from './screen.ts'

export const SCREENS: readonly Screen[] = [
  {
    path: 'keys',
    title: 'Keys',
    group: 'Organization',
    icon: 'key',
    access: 'member',
    actions: [{ title: 'Create a key', query: { new: 'key' } }],
    load: async () => (await import('./keys/keys.tsx')).Screen,
  },
]
