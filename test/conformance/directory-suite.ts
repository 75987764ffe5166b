/** What a store of directories has to do (src/store/directory-store.ts). */
import { type Test, test } from 'tap'
import { addTwoOrganizations } from '../support/data/directory.js'
import { connectionTests } from './directory/connections.js'
import { groupTests } from './directory/groups.js'
import { heldTests } from './directory/held.js'
import { memberTests } from './directory/members.js'
import type { DirectoryPlace, NamedDirectoryTest } from './directory/place.js'
import { removalTests } from './directory/removals.js'
import { roleTests } from './directory/roles.js'

/** An implementation of the port, for the shared suite. */
interface DirectoryKind {
  readonly name: string
  /** The test that the suite's tests belong to, where they need what ends with it. */
  readonly within?: Test
  /** A new, empty place, which ends with the test. */
  place(t: Test): DirectoryPlace | Promise<DirectoryPlace>
}

/** Declares the suite's tests for one implementation. */
export function directorySuite(kind: DirectoryKind): void {
  const named: NamedDirectoryTest = (name, run) => {
    const title = `${kind.name}: ${name}`
    const body = async (t: Test): Promise<void> => {
      const place = await kind.place(t)
      await addTwoOrganizations(place)
      await run(t, place)
    }
    void (kind.within === undefined ? test(title, body) : kind.within.test(title, body))
  }
  for (const declare of [connectionTests, memberTests, groupTests, heldTests, roleTests, removalTests]) {
    declare(named)
  }
}
