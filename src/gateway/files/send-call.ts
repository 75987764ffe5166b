/**
 * Sends one attempt, with what it has to do with files. Those that the request names are read for it, held as long as it
 * lasts, and counted among what the organization has on its way to providers. Pictures and sound of the answer are kept.
 */
import type { Principal } from '../../base/principal.js'
import type { ModelEndpoint } from '../catalog/catalog.js'
import type { NamedFile, RoutedRequest } from '../formats/canonical.js'
import type { InferenceFormat } from '../metering/format.js'
import { NO_ROOM } from '../providers/http/linked-media.js'
import { EndWatcher, type HeldMedia, type MediaRoom } from '../providers/http/media-room.js'
import { deferCall } from '../providers/port/deferred-call.js'
import type {
  CallHandle,
  ChatApi,
  CompletionReceiver,
  ProviderCall,
  StreamReceiver,
} from '../providers/port/provider.js'
import type { ToolFiles } from '../tools/port/tool.js'
import { makesMedia, withKeptMedia } from './kept-media.js'
import { fileIdsIn, inlineNamedFiles, unknownFile } from './named-files.js'

/** What calls that have to do with files need of the house. */
export interface FilePorts {
  readonly filesOf: (caller: Principal) => ToolFiles
  /** Of this worker. */
  readonly room: MediaRoom
  /** Most bytes of all files of a call. */
  readonly maxBytes: number
}

type Receiver<E, A> = StreamReceiver<E> & CompletionReceiver<A>
type Begin<R extends RoutedRequest, T> = (call: ProviderCall<R>, receiver: T) => CallHandle

/** Hot: a call that names no files, whose answer is words alone, is begun at once. */
export function sendCall<R extends RoutedRequest, E, A>(
  format: InferenceFormat<R, E, A>,
  mode: 'stream' | 'complete',
  call: ProviderCall<R>,
  endpoint: ModelEndpoint,
  receiver: Receiver<E, A>,
  ports: FilePorts,
): CallHandle {
  const served = format.apiOf(endpoint.provider)
  // In chat; over messages pictures are kept beneath the translation.
  const api =
    format.name === 'chat' && makesMedia(endpoint, call.request)
      ? (withKeptMedia(served as unknown as ChatApi, ports) as unknown as typeof served)
      : served
  const begin = (ready: ProviderCall<R>, to: Receiver<E, A>): CallHandle =>
    mode === 'stream' ? api.stream(ready, to) : api.complete(ready, to)
  return call.request.files === undefined
    ? begin(call, receiver)
    : sendWithFiles(ports, call, begin, receiver)
}

/** Begins the call once the files are read; ends it where one has gone meanwhile. */
function sendWithFiles<R extends RoutedRequest, T extends Receiver<never, never>>(
  { filesOf, room }: FilePorts,
  call: ProviderCall<R>,
  begin: Begin<R, T>,
  receiver: T,
): CallHandle {
  const held = room.begin(call.caller.organizationId)
  const release = (): void => held.release()
  const watched = new EndWatcher(receiver, release) as unknown as T
  const ready = readFiles(call.request, filesOf(call.caller), held)
  return deferCall(ready, (request) => begin({ ...call, request }, watched), watched, release)
}

async function readFiles<R extends RoutedRequest>(request: R, files: ToolFiles, held: HeldMedia): Promise<R> {
  const contents = new Map<string, NamedFile & { readonly bytes: Buffer }>()
  for (const [id, place] of fileIdsIn(request)) {
    const size = request.files?.find((file) => file.id === id)?.sizeBytes
    if (size === undefined) throw unknownFile(place)
    // What is named again is read once and sent again.
    if (!held.take(size)) throw NO_ROOM
    if (contents.has(id)) continue
    const read = await files.read(id, size)
    // Deleted since the request was let in.
    if (read === null) throw unknownFile(place)
    contents.set(id, { ...read.file, bytes: read.bytes })
  }
  return inlineNamedFiles(request, (id) => contents.get(id)!)
}
