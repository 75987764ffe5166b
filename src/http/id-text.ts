import { type TextField, UNDECODABLE } from './params.js'

/**
 * Text that names a resource. Whatever it is, it is read: what no id can be names nothing, and is not found
 * rather than invalid (contract/decisions 32). Text that is no UTF-8 reads as `''`.
 */
export function idParam(description: string): TextField<string> {
  return {
    required: true,
    schema: { type: 'string', description },
    read: (raw) => (raw === undefined || raw === UNDECODABLE ? '' : raw),
  }
}
