import { closedLoop } from '../load.js'
import { apiRequest, formRequest } from '../requests.js'
import { type Attack, mergeReports } from './attack.js'

const MIB = 2 ** 20
const ITEM_CONNECTIONS = 32
const UPLOAD_CONNECTIONS = 4
const FILE_BYTES = 4 * MIB
/** So small that it comes to refusals in the time of a trial. */
const ITEM_STORAGE_BYTES = 2 * MIB
const FILE_STORAGE_BYTES = 256 * MIB

/** Anybody may create items, and whoever has a key may store files: until the disk is full, if nothing stops them. */
export const fillStorage: Attack = {
  name: 'attack-fill-storage',
  summary: '32 connections without a key create items, and an organization uploads files of 4 MiB',
  environment: {
    SLUICE_ITEM_STORAGE_BYTES: String(ITEM_STORAGE_BYTES),
    SLUICE_FILE_STORAGE_BYTES: String(FILE_STORAGE_BYTES),
  },
  play: async ({ port, seconds, key }) => {
    const item = apiRequest('POST', '/items', { name: 'filler', description: 'x'.repeat(990), price: 1 })
    const file = formRequest('/files', key, {}, 'filler.bin', Buffer.alloc(FILE_BYTES, 'x'))
    return mergeReports(
      await Promise.all([
        closedLoop({ port, connections: ITEM_CONNECTIONS, seconds, request: item }),
        closedLoop({ port, connections: UPLOAD_CONNECTIONS, seconds, request: file }),
      ]),
    )
  },
}
