/** `tools.web_fetch` of the file. */
import { flag, integerBetween } from '../../catalog/configuration/values.js'

const MIB = 1024 * 1024

export const webFetchMembers = {
  known_addresses_only: flag
    .default(false)
    .describe('Whether a page is read only where its address stands in the conversation or in a result.'),
  max_bytes: integerBetween(1_024, 64 * MIB)
    .default(10 * MIB)
    .describe('Most bytes of a page or PDF.'),
}
