/** Which kind of file system a folder lies on, as far as that matters to a store. */
import { type StatsFs, statfsSync } from 'node:fs'

/** By the number that statfs(2) gives. */
const KINDS: Readonly<Record<number, FileSystemKind>> = {
  26985: { name: 'NFS', trait: 'network' },
  4283649346: { name: 'CIFS', trait: 'network' },
  4266872130: { name: 'SMB', trait: 'network' },
  20859: { name: 'SMB', trait: 'network' },
  22092: { name: 'NCP', trait: 'network' },
  1397113167: { name: 'AFS', trait: 'network' },
  1937076805: { name: 'Coda', trait: 'network' },
  16914839: { name: '9P', trait: 'network' },
  12805120: { name: 'CephFS', trait: 'network' },
  198183888: { name: 'Lustre', trait: 'network' },
  1196443219: { name: 'GPFS', trait: 'network' },
  1952539503: { name: 'OCFS2', trait: 'network' },
  18225520: { name: 'GFS2', trait: 'network' },
  1702057286: { name: 'FUSE', trait: 'unknown' },
  16914836: { name: 'tmpfs', trait: 'memory' },
  2240043254: { name: 'ramfs', trait: 'memory' },
  2035054128: { name: 'overlayfs', trait: 'layer' },
  61267: { name: 'ext4', trait: 'local' },
  1481003842: { name: 'XFS', trait: 'local' },
  2435016766: { name: 'Btrfs', trait: 'local' },
  801189825: { name: 'ZFS', trait: 'local' },
  4076150800: { name: 'F2FS', trait: 'local' },
}

export interface FileSystemKind {
  readonly name: string
  /**
   * `network`: other machines may have it, and memory-mapped files of several processes are not kept together.
   * `memory`: gone with the machine. `layer`: gone with the container. `unknown`: it depends on a program.
   */
  readonly trait: 'local' | 'network' | 'memory' | 'layer' | 'unknown'
}

/** Throws what the system says where the folder is not there. */
export function fileSystemOf(folder: string, read: (path: string) => Pick<StatsFs, 'type'> = statfsSync) {
  return fileSystemKind(read(folder).type)
}

/** The number comes with a sign from systems where it is one of 32 bits. */
function fileSystemKind(type: number): FileSystemKind {
  return KINDS[type >>> 0] ?? { name: `type 0x${(type >>> 0).toString(16)}`, trait: 'local' }
}
