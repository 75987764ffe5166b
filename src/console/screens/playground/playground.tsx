/** Playground: a conversation with a model, streamed, with what it took and what it cost. */
import { useEffect, useMemo, useState } from 'preact/hooks'
import { ROOT } from '../../api/call.ts'
import { useResource } from '../../api/resource.ts'
import { Field, numberIn, Select, TextArea, textIn } from '../../kit/form.tsx'
import { Page, ProblemNote, Section } from '../../kit/page.tsx'
import { Code } from '../../kit/values.tsx'
import { place, setQuery } from '../../shell/location.ts'
import { session } from '../../shell/session.ts'
import { bodyOf, Conversation, type Request } from './conversation.ts'
import { TurnView } from './turn.tsx'
import { MODELS, type Model } from './wire.ts'

export function Screen() {
  const conversation = useMemo(() => new Conversation(), [])
  const [request, setRequest] = useState<Request | null>(null)
  useEffect(() => () => conversation.stop(), [conversation])
  const turns = conversation.turns.value
  const send = (form: HTMLFormElement): void => {
    const fields = new FormData(form)
    const text = textIn(fields, 'text')
    if (conversation.isBusy || text === '') return
    const asked = requestIn(fields)
    setRequest(asked)
    form.querySelector<HTMLTextAreaElement>('[name="text"]')!.value = ''
    void conversation.ask(asked, text)
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
      <form
        class="playground"
        onSubmit={(event) => {
          event.preventDefault()
          send(event.currentTarget)
        }}
      >
        <Parameters />
        <div class="conversation">
          <ol class="turns" aria-live="polite" aria-label="Conversation">
            {turns.map((turn, n) => (
              <TurnView key={n} of={turn} />
            ))}
          </ol>
          {turns.length === 0 && (
            <p class="soft">What you say to a model and what it answers stays in this page.</p>
          )}
          <Say isBusy={conversation.isBusy} stop={() => conversation.stop()} />
        </div>
      </form>
      {request !== null && (
        <Section title="As curl" lead="The last call. Put the key into API_KEY.">
          <Code text={curlOf(request, conversation)} label="Copy the command" />
        </Section>
      )}
    </Page>
  )
}

function requestIn(fields: FormData): Request {
  return {
    model: textIn(fields, 'model'),
    system: textIn(fields, 'system'),
    temperature: numberIn(fields, 'temperature'),
    maxTokens: numberIn(fields, 'max_tokens'),
    key: textIn(fields, 'paid') === 'session' ? null : textIn(fields, 'key'),
  }
}

function Parameters() {
  const { data, problem, reload } = useResource<{ readonly data: readonly Model[] }>(MODELS)
  const who = session.value!
  const [isBySession, setBySession] = useState(false)
  const models =
    data?.data.filter(({ architecture }) => architecture.output_modalities.includes('text')) ?? []
  const chosen = place.value.query.get('model') ?? models[0]?.id ?? ''
  return (
    <div class="parameters form">
      {problem && <ProblemNote problem={problem} retry={reload} />}
      <Select
        label="Model"
        name="model"
        value={chosen}
        options={models.map(({ id }) => [id, id])}
        hint={<Prices of={models.find(({ id }) => id === chosen)} />}
        onChange={(event) => setQuery({ model: event.currentTarget.value })}
      />
      {who.kind === 'management' && (
        <Select
          label="Paid by"
          name="paid"
          value={isBySession ? 'session' : 'key'}
          options={[
            ['key', 'A key'],
            ['session', `${who.organization.name}, by my session`],
          ]}
          onChange={(event) => setBySession(event.currentTarget.value === 'session')}
        />
      )}
      {!isBySession && (
        <Field
          label="Key"
          name="key"
          type="password"
          hint="Kept in this page until you leave it, nowhere else."
        />
      )}
      <TextArea label="System" name="system" rows={3} isOptional />
      <div class="pair">
        <Field label="Temperature" name="temperature" type="number" min="0" max="2" step="0.1" isOptional />
        <Field label="Most tokens" name="max_tokens" type="number" min="1" step="1" isOptional />
      </div>
    </div>
  )
}

const MILLION = 1_000_000

/** A line of one height, whether the model is known yet or not. */
function Prices({ of }: { of: Model | undefined }) {
  if (of === undefined) return <>…</>
  const price = (text: string): string =>
    (Number(text) * MILLION).toLocaleString('en-US', { style: 'currency', currency: 'USD' })
  return (
    <>
      A million tokens: {price(of.pricing.prompt)} in, {price(of.pricing.completion)} out
    </>
  )
}

function Say({ isBusy, stop }: { isBusy: boolean; stop: () => void }) {
  return (
    <div class="say">
      <textarea
        aria-label="Your message"
        name="text"
        rows={3}
        required
        placeholder="Say something"
        onKeyDown={(event) => {
          if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return
          event.preventDefault()
          event.currentTarget.form?.requestSubmit()
        }}
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

/** The call as a command; the answer that came is no part of it. */
function curlOf(request: Request, { turns }: Conversation): string {
  const asked = turns.value.slice(0, -1)
  const body = JSON.stringify(bodyOf(request, asked), null, 2).replaceAll("'", "'\\''")
  return `curl -N ${new URL(`${ROOT}api/v1/chat/completions`, window.location.href).href} \\
  -H "Authorization: Bearer $API_KEY" -H "Content-Type: application/json" \\
  -d '${body}'`
}
