/** Puts together what fetches the files that requests name by an address. */
import type { Config } from '../config/config.js'
import { fileAddressGuard } from '../upstream/address-guard.js'
import { createUpstreamClient } from '../upstream/client.js'
import { fileFetcher } from '../upstream/fetch-file.js'
import type { WorkerContext } from './worker-context.js'

interface FileFetchingOptions extends Pick<WorkerContext, 'clock' | 'log'> {
  readonly config: Pick<Config, 'allowLoopbackFiles'>
}

export function composeFileFetching({ config, clock, log }: FileFetchingOptions) {
  // Connections of their own, because only these are guarded: a provider may well stand in a private network.
  const client = createUpstreamClient({
    guard: fileAddressGuard(config.allowLoopbackFiles),
    onDefect: (err) => log.error({ err }, 'a defect while a file was fetched; the fetch was ended'),
  })
  return { fetchFile: fileFetcher(client, clock), close: () => client.close() }
}
