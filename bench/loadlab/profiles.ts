/** Every load profile of both services, as data. `npm run bench -- profile <name>` runs one. */
import { GATEWAY_PROFILES } from './profiles/gateway.js'
import { PRACTICE_PROFILES } from './profiles/practice.js'
import type { Profile } from './profiles/profile.js'

/** Where both services have a profile of one name, the gateway's is asked for as `gateway/name`. */
export const PROFILES: ReadonlyMap<string, Profile> = byUniqueName([
  ...PRACTICE_PROFILES.map((profile) => ({ service: 'practice' as const, ...profile })),
  ...GATEWAY_PROFILES.map((profile) => ({ service: 'gateway' as const, ...profile })),
])

function byUniqueName(profiles: readonly Profile[]): Map<string, Profile> {
  const byName = new Map<string, Profile>()
  for (const profile of profiles) {
    const name = byName.has(profile.name) ? `${profile.service}/${profile.name}` : profile.name
    byName.set(name, profile)
  }
  return byName
}
