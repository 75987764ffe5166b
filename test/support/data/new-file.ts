import type { NewFileDetails } from '../../../src/store/file-store.js'

/** Of a file that a test makes. */
export const FILE: NewFileDetails = {
  organizationId: '01890000-0000-7000-8000-000000000001',
  workspaceId: '01890000-0000-7000-8000-000000000002',
  filename: 'a.bin',
  origin: 'created',
  purpose: null,
}
