/** Files on their way here: dropped or chosen, some at a time, each with what has been sent of it. */
import { useEffect, useRef, useState } from 'preact/hooks'
import type { Problem } from '../../api/call.ts'
import { upload } from '../../api/upload.ts'
import { Field } from '../../kit/form.tsx'
import { Bytes, Meter, State } from '../../kit/values.tsx'
import { filesPath, type Scope, type StoredFile } from './wire.ts'

/** More at a time would only share the line. */
const MOST_AT_A_TIME = 2

interface Upload {
  readonly number: number
  readonly file: File
  readonly state: 'waiting' | 'sending' | 'done' | 'stopped' | 'failed'
  /** From 0 to 1. */
  readonly share: number
  readonly problem: Problem | null
}

interface UploadsProps {
  readonly scope: Scope
  /** A file is there. */
  readonly arrived: () => void
}

export function Uploads({ scope, arrived }: UploadsProps) {
  const [uploads, setUploads] = useState<readonly Upload[]>([])
  const [isOver, setOver] = useState(false)
  const stops = useRef(new Map<number, AbortController>())
  const change = (number: number, to: Partial<Upload>): void =>
    setUploads((all) => all.map((each) => (each.number === number ? { ...each, ...to } : each)))
  const add = (files: FileList | null): void =>
    setUploads((all) => [
      ...all,
      ...(Array.from(files ?? [], (file, at) => ({
        ...{ number: all.length + at, file, state: 'waiting', share: 0, problem: null },
      })) as Upload[]),
    ])
  const send = async ({ number, file }: Upload): Promise<void> => {
    const stop = new AbortController()
    stops.current.set(number, stop)
    change(number, { state: 'sending' })
    const form = new FormData()
    form.append('file', file)
    const onProgress = (share: number): void => change(number, { share })
    const outcome = await upload<StoredFile>(filesPath(scope), form, { signal: stop.signal, onProgress })
    stops.current.delete(number)
    if (outcome === null) return change(number, { state: 'stopped' })
    change(number, outcome.ok ? { state: 'done', share: 1 } : { state: 'failed', problem: outcome.problem })
    if (outcome.ok) arrived()
  }
  const sending = uploads.filter(({ state }) => state === 'sending').length
  const next = sending < MOST_AT_A_TIME ? uploads.find(({ state }) => state === 'waiting') : undefined
  useEffect(() => {
    if (next !== undefined) void send(next)
  }, [next?.number])
  // Who leaves the screen does not wait for them.
  useEffect(() => () => stops.current.forEach((stop) => stop.abort()), [])
  return (
    <section
      class={isOver ? 'uploads over' : 'uploads'}
      aria-label="Upload"
      onDragOver={(event) => {
        event.preventDefault()
        setOver(true)
      }}
      onDragLeave={() => setOver(false)}
      onDrop={(event) => {
        event.preventDefault()
        setOver(false)
        add(event.dataTransfer?.files ?? null)
      }}
    >
      <Field
        label="Drop files here, or choose some"
        type="file"
        multiple
        isOptional
        onInput={(event) => {
          add(event.currentTarget.files)
          event.currentTarget.value = ''
        }}
      />
      {uploads.length > 0 && (
        <ul class="on-their-way">
          {uploads.map((each) => (
            <UploadLine
              key={each.number}
              upload={each}
              stop={() =>
                each.state === 'waiting'
                  ? change(each.number, { state: 'stopped' })
                  : stops.current.get(each.number)?.abort()
              }
            />
          ))}
        </ul>
      )}
    </section>
  )
}

function UploadLine({ upload: { file, state, share, problem }, stop }: { upload: Upload; stop: () => void }) {
  return (
    <li>
      <span class="name">{file.name}</span>
      <Bytes value={file.size} />
      {state === 'sending' && <Meter used={share} of={1} label={`Sent of ${file.name}`} />}
      {state === 'waiting' && <State is="quiet">waits</State>}
      {state === 'done' && <State is="good">there</State>}
      {state === 'stopped' && <State is="quiet">stopped</State>}
      {problem && <State is="bad">{problem.message}</State>}
      {(state === 'sending' || state === 'waiting') && (
        <button type="button" onClick={stop}>
          Stop
        </button>
      )}
    </li>
  )
}
