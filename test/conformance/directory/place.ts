/** What each test of the suite of directories is given. */
import type { Test } from 'tap'
import type { DirectoryStoresOfTest } from '../../support/data/directory.js'

/** Stores at a place of their own, with two organizations. */
export interface DirectoryPlace extends DirectoryStoresOfTest {
  reopen(): Promise<void>
}

/** Declares one test with a place of its own. */
export type NamedDirectoryTest = (
  name: string,
  run: (t: Test, place: DirectoryPlace) => Promise<void>,
) => void
