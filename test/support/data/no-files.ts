import type { FilePorts } from '../../../src/gateway/files/send-call.js'
import { MediaRoom } from '../../../src/gateway/providers/http/media-room.js'
import type { ToolFiles } from '../../../src/gateway/tools/port/tool.js'

/** A workspace that holds nothing and takes nothing. */
export const NO_FILES: ToolFiles = {
  find: () => null,
  list: () => [],
  read: async () => null,
  readPart: async () => null,
  create: async () => {
    throw new Error('there is no room')
  },
  remove: async () => false,
}

/** Of a gateway whose workspaces are all empty. */
export const NO_FILE_PORTS: FilePorts = {
  filesOf: () => NO_FILES,
  room: new MediaRoom(),
  maxBytes: 1_000_000,
}
