/** Playground: a conversation with a model, streamed, with what it took and what it cost. */
import { useEffect, useMemo, useState } from 'preact/hooks'
import { useResource } from '../../api/resource.ts'
import { Code } from '../../kit/code.tsx'
import { Select } from '../../kit/fields.tsx'
import { Field, textIn } from '../../kit/form.tsx'
import { Page, ProblemNote, Section } from '../../kit/page.tsx'
import { place } from '../../shell/location.ts'
import { tell } from '../../shell/toasts.tsx'
import { acceptOf, filesIn } from './attaching.ts'
import { Conversation, type Turn } from './conversation.ts'
import { COPIES, type Copied, copyOf } from './copies.ts'
import type { Request } from './formats.ts'
import { Parameters, requestIn } from './parameters.tsx'
import { soundOf } from './sound.ts'
import { TurnView } from './turn.tsx'
import { MODELS, type Model, type SoundKind } from './wire.ts'

export function Screen() {
  const conversation = useMemo(() => new Conversation(), [])
  const [request, setRequest] = useState<Request | null>(null)
  useEffect(() => () => conversation.stop(), [conversation])
  const { data, problem, reload } = useResource<{ readonly data: readonly Model[] }>(
    `${MODELS}?output_modalities=all`,
  )
  const models =
    data?.data.filter((each) => each.architecture.output_modalities.includes('text') || soundOf(each)) ?? []
  const chosen = place.value.query.get('model') ?? models[0]?.id
  const model = models.find(({ id }) => id === chosen)
  const turns = conversation.turns.value
  const send = async (form: HTMLFormElement): Promise<void> => {
    const fields = new FormData(form)
    const text = textIn(fields, 'text')
    if (conversation.isBusy) return
    const asked = requestIn(fields, model)
    const files = await filesIn(fields)
    // A second press of the key while the files were read.
    if (conversation.isBusy) return
    setRequest(asked)
    form.querySelector<HTMLTextAreaElement>('[name="text"]')!.value = ''
    form.querySelector<HTMLInputElement>('[name="files"]')!.value = ''
    await conversation.ask(asked, text, files)
  }
  return (
    <Page
      title="Playground"
      lead="Ask a model as your programs would. Each answer is a call like any other, with its row and its price."
      actions={
        turns.length > 0 && (
          <button type="button" onClick={() => conversation.clear()}>
            Begin anew
          </button>
        )
      }
    >
      <ProblemNote problem={problem} retry={reload} />
      <form
        class="playground"
        onSubmit={(event) => {
          event.preventDefault()
          send(event.currentTarget).catch(() => tell('A file cannot be read'))
        }}
      >
        <Parameters models={models} chosen={chosen} model={model} />
        <div class="conversation">
          <ol class="turns" aria-live="polite" aria-label="Conversation">
            {turns.map((turn, n) => (
              <TurnView key={n} of={turn} place={n + 1} />
            ))}
          </ol>
          {turns.length === 0 && (
            <p class="soft">What you say to a model and what it answers stays in this page.</p>
          )}
          <Say
            accept={acceptOf(model)}
            sound={soundOf(model)}
            isBusy={conversation.isBusy}
            stop={() => conversation.stop()}
          />
        </div>
      </form>
      {request !== null && <CopyAs request={request} turns={turns} />}
    </Page>
  )
}

interface SayProps {
  readonly accept: string | null
  readonly sound: SoundKind | null
  readonly isBusy: boolean
  readonly stop: () => void
}

function Say({ accept, sound, isBusy, stop }: SayProps) {
  const isRecording = sound === 'transcription'
  return (
    <div class="say">
      <textarea
        aria-label="Your message"
        name="text"
        rows={3}
        required={!isRecording}
        disabled={isRecording}
        placeholder={isRecording ? 'What is said in the recording stands in the answer' : 'Say something'}
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
          event.preventDefault()
          event.currentTarget.form?.requestSubmit()
        }}
      />
      <Field
        label="Files"
        name="files"
        type="file"
        multiple
        isOptional={!isRecording}
        accept={accept ?? ''}
        disabled={accept === null}
        hint={accept === null ? 'This model takes text alone.' : 'They go with your message.'}
      />
      <div class="form-actions">
        <span class="soft small">Enter sends, Shift + Enter begins a line</span>
        {isBusy ? (
          <button type="button" onClick={stop}>
            Stop
          </button>
        ) : (
          <button type="submit" class="primary">
            Send
          </button>
        )}
      </div>
    </div>
  )
}

/** The answer that came is no part of it. */
function CopyAs({ request, turns }: { request: Request; turns: readonly Turn[] }) {
  const [as, setAs] = useState<Copied>('curl')
  const asked = turns.slice(0, -1)
  return (
    <Section
      title="Copy as"
      lead="The last call, with its key in the variable API_KEY; in place of files their names stand."
    >
      <Select
        label="Language"
        value={as}
        options={(request.sound ? COPIES.slice(0, 1) : COPIES).map((each) => [each, each])}
        onChange={(event) => setAs(event.currentTarget.value as Copied)}
      />
      <Code text={copyOf(request.sound ? 'curl' : as, request, asked)} label="Copy the code" />
    </Section>
  )
}
