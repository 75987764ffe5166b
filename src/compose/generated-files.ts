import { Fault } from '../base/fault.js'
import type { GeneratedFiles } from '../simulator/generated-file.js'
import type { AccountStore } from '../store/account-store.js'
import type { FileStore } from '../store/file-store.js'

/** Files that models make, in the store. A management key has no workspace: its organization's first one is taken. */
export function storeGeneratedFiles(files: FileStore, accounts: AccountStore): GeneratedFiles {
  return {
    store: ({ organizationId, workspaceId: own }, filename, content) => {
      const workspaceId = own ?? accounts.workspacesOf(organizationId)[0]?.id
      if (workspaceId === undefined) {
        return Promise.reject(new Fault('internal', { detail: 'an organization without a workspace' }))
      }
      return files.createFile(
        { organizationId, workspaceId, filename, origin: 'created', purpose: null },
        content,
      )
    },
    discard: async (id) => {
      await files.removeFile(id)
    },
  }
}
