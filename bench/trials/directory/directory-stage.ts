/** Connections of fake directories to a server under trial. */
import { AdminClient } from '../../performance/federation/trust.js'
import { DirectoryClient } from './directory-client.js'
import { FakeDirectory } from './fake-directory.js'

/** More than any trial removes: what is held until somebody approves is another matter than what is tried here. */
const NEVER_HELD = { held_share: 1, held_from: 1_000_000 }

export interface StagedDirectory {
  readonly connectionId: string
  readonly token: string
  readonly directory: FakeDirectory
}

/** Connects one more directory to the organization of the management key. */
export async function connectDirectory(
  port: number,
  admin: AdminClient,
  name: string,
): Promise<StagedDirectory> {
  const { data } = await admin.requireSuccess('POST', '/scim-connections', { name, ...NEVER_HELD })
  const { token } = await admin.requireSuccess('POST', `/scim-connections/${data.id}/tokens`, {})
  return { connectionId: data.id, token, directory: new FakeDirectory(new DirectoryClient(port, token)) }
}

/** So many, one after the other. */
export async function connectDirectories(port: number, count: number): Promise<StagedDirectory[]> {
  const admin = new AdminClient(`http://127.0.0.1:${port}`)
  const all: StagedDirectory[] = []
  for (let index = 0; index < count; index++)
    all.push(await connectDirectory(port, admin, `directory ${index}`))
  return all
}
