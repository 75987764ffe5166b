/** The federation part of an LMDB store alone, in a folder of its own. */
import type { FederationStore } from '../../../src/store/federation-store.js'
import { LmdbEnvironment } from '../../../src/store/lmdb/environment.js'
import { FEDERATION_TABLE_NAMES } from '../../../src/store/lmdb/federation/federation-layout.js'
import type { openFederation } from '../../../src/store/lmdb/federation/federation-open.js'
import { makeFolder, removeFolder } from '../data/temp-folder.js'

/** A store at a place of its own. */
export interface FederationPlace {
  readonly store: FederationStore
  reopen(): Promise<void>
  end(): Promise<void>
}

export function openEnvironment(path: string): LmdbEnvironment {
  return new LmdbEnvironment(path, { numbered: [], byBytes: Object.values(FEDERATION_TABLE_NAMES) })
}

export function openFederationPlace(
  open: (env: LmdbEnvironment) => ReturnType<typeof openFederation>,
): FederationPlace {
  const path = makeFolder()
  let env = openEnvironment(path)
  let federation = open(env)
  const close = async (): Promise<void> => {
    await federation.idle()
    await env.close()
  }
  return {
    get store() {
      return federation.store
    },
    reopen: async () => {
      await close()
      env = openEnvironment(path)
      federation = open(env)
    },
    end: async () => {
      await close()
      removeFolder(path)
    },
  }
}
