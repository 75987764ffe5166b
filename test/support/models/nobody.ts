/** Where no member is known and nobody has a role. */
import type { People } from '../../../src/identity/people.js'

export const NOBODY: People = {
  members: { factsOf: () => null },
  roles: { roleOf: () => null, workspacesOf: () => new Map() },
}
