/** The federation part of an LMDB store alone, in a folder of its own. */
import type { FederationStore } from '../../../src/store/federation-store.js'
import { LmdbEnvironment } from '../../../src/store/lmdb/environment.js'
import { makeFolder, removeFolder } from '../data/temp-folder.js'

/** A store at a place of its own. */
export interface FederationPlace {
  readonly store: FederationStore
  reopen(): Promise<void>
  end(): Promise<void>
}

export function openFederationPlace(open: (env: LmdbEnvironment) => FederationStore): FederationPlace {
  const path = makeFolder()
  let env = new LmdbEnvironment(path)
  let store = open(env)
  return {
    get store() {
      return store
    },
    reopen: async () => {
      await env.close()
      env = new LmdbEnvironment(path)
      store = open(env)
    },
    end: async () => {
      await env.close()
      removeFolder(path)
    },
  }
}
