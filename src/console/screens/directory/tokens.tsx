/** The tokens of a connection: two may be valid at a time. */
import { useState } from 'preact/hooks'
import { call } from '../../api/call.ts'
import { Dialog } from '../../kit/dialog.tsx'
import { Confirm, ShownOnce } from '../../kit/dialogs.tsx'
import { dayEndIn } from '../../kit/fields.tsx'
import { Field, Form } from '../../kit/form.tsx'
import { Section } from '../../kit/page.tsx'
import { type Column, Table } from '../../kit/table.tsx'
import { Time } from '../../kit/values.tsx'
import { tell } from '../../shell/toasts.tsx'
import type { CreatedToken, Token } from './wire.ts'

interface TokensProps {
  /** Of the connection. */
  readonly path: string
  readonly tokens: readonly Token[]
  readonly changed: () => void
}

export function Tokens({ path, tokens, changed }: TokensProps) {
  const [isMaking, setMaking] = useState(false)
  const [made, setMade] = useState<CreatedToken | null>(null)
  const [ending, setEnding] = useState<Token | null>(null)
  const columns: readonly Column<Token>[] = [
    { title: 'Token', cell: ({ label }) => <code class="figure">{label}</code> },
    { title: 'Last use', from: 'medium', cell: ({ last_used_at }) => <Time at={last_used_at} dayOnly /> },
    { title: 'Expires', from: 'wide', cell: ({ expires_at }) => <Time at={expires_at} dayOnly /> },
    {
      title: 'Actions',
      align: 'end',
      cell: (token) => (
        <button
          type="button"
          class="plain"
          aria-label={`Revoke ${token.label}`}
          onClick={() => setEnding(token)}
        >
          Revoke
        </button>
      ),
    },
  ]
  const close = (): void => {
    setMaking(false)
    setMade(null)
  }
  return (
    <Section
      title="Tokens"
      lead="Two may be valid at a time, so that one can be replaced without an outage."
      actions={
        <button type="button" onClick={() => setMaking(true)}>
          Make a token
        </button>
      }
    >
      <Table
        caption="Tokens"
        columns={columns}
        rows={tokens}
        keyOf={({ id }) => id}
        empty={<p class="soft">No token yet: the identity provider cannot ask anything.</p>}
      />
      {made && (
        <ShownOnce title="The token" secret={made.token} close={close}>
          Copy it now into the identity provider.
        </ShownOnce>
      )}
      {isMaking && !made && (
        <Dialog title="Make a token" close={close}>
          <Form
            submit="Make"
            cancel={close}
            send={(fields) =>
              call<CreatedToken>('POST', `${path}/tokens`, {
                body: { expires_at: dayEndIn(fields, 'expires') },
              })
            }
            done={(answer) => {
              setMade(answer)
              changed()
            }}
          >
            <Field label="Expires" name="expires" type="date" isOptional autofocus />
          </Form>
        </Dialog>
      )}
      {ending && (
        <Confirm
          title={`Revoke ${ending.label}?`}
          submit="Revoke"
          send={() => call('DELETE', `${path}/tokens/${encodeURIComponent(ending.id)}`)}
          done={() => {
            tell('The token is revoked')
            setEnding(null)
            changed()
          }}
          close={() => setEnding(null)}
        >
          The identity provider is refused with it from the next call on. What it has delivered stays.
        </Confirm>
      )}
    </Section>
  )
}
