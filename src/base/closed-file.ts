/** A file that the user of this process may not use, in the words in which operators are told of it. */
import { statSync } from 'node:fs'
import { resolve } from 'node:path'

export interface ClosedFile {
  /** What is the matter, in half a sentence that names the file. */
  readonly found: string
  /** What to do. */
  readonly remedy: string
}

/**
 * Tells a refusal of the system apart from everything else that may be wrong with a file; null for anything else.
 * @param error what the system answered
 * @param folder what has to change its owner with the file
 */
export function describeClosedFile(path: string, error: unknown, folder: string): ClosedFile | null {
  const { code } = Object(error) as NodeJS.ErrnoException
  if (code === 'EROFS') {
    return {
      found: `${path} lies on a file system without writing`,
      remedy: 'mount it so that it is writable',
    }
  }
  if (code !== 'EACCES' && code !== 'EPERM') return null
  const uid = process.geteuid?.()
  const found = `${path} cannot be used by this user${uid === undefined ? '' : ` (uid ${uid})`}`
  return { found, remedy: openingCommand(path, uid, resolve(folder)) }
}

/** Who owns a file whose mode keeps them out needs another mode, and no other owner. */
function openingCommand(path: string, uid: number | undefined, folder: string): string {
  if (uid === undefined) return 'give them its files, or start as their owner'
  const owner = ownerOf(path)
  if (owner === uid) return `chmod -R u+rwX ${folder}`
  const change = `chown -R ${uid} ${folder}`
  // Root owns what root has restored, and is nobody to start a server as.
  return owner === null || owner === 0 ? change : `${change}, or start as its owner (uid ${owner})`
}

function ownerOf(path: string): number | null {
  try {
    return statSync(path).uid
  } catch {
    return null
  }
}
