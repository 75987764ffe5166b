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
  {
    path: 'credits',
    title: 'Credits',
    group: 'Organization',
    icon: 'coin',
    access: 'management',
    load: async () => (await import('./credits/credits.tsx')).Screen,
  },
  {
    path: 'audit',
    title: 'Audit',
    group: 'Organization',
    icon: 'audit',
    access: 'management',
    load: async () => (await import('./audit/audit.tsx')).Screen,
  },
  {
    path: 'tools',
    title: 'Tools and plugins',
    group: 'Machine',
    icon: 'tool',
    access: 'operator',
    load: async () => (await import('./tools/tools.tsx')).Screen,
  },
  {
    path: 'settings',
    title: 'Settings',
    group: 'Machine',
    icon: 'settings',
    access: 'operator',
    load: async () => (await import('./settings/settings.tsx')).Screen,
  },
]
