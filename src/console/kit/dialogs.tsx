/** Dialogs that many screens have. Apart from the dialog itself, which the palette has before any screen is loaded. */
import type { ComponentChildren } from 'preact'
import type { Outcome } from '../api/call.ts'
import { Code } from './code.tsx'
import { Dialog } from './dialog.tsx'
import { Field, Form, textIn } from './form.tsx'
import { Note } from './note.tsx'

interface ShownOnceProps {
  readonly title: string
  readonly secret: string
  readonly close: () => void
  /** What to do with it. */
  readonly children: ComponentChildren
}

/** A secret, which is in this dialog alone, and gone with it: it ends by its own button. */
export function ShownOnce({ title, secret, close, children }: ShownOnceProps) {
  return (
    <Dialog title={title} close={close} isKept>
      <Note is="attention">{children} It is kept as a hash only, and never shown again.</Note>
      <Code text={secret} />
      <div class="form-actions">
        <button type="button" class="primary" onClick={close}>
          I have copied it
        </button>
      </div>
    </Dialog>
  )
}

interface ConfirmProps<T> {
  readonly title: string
  /** On the button, as a verb. */
  readonly submit: string
  readonly send: () => Promise<Outcome<T>>
  readonly done: () => void
  readonly close: () => void
  /** What will be so afterwards. */
  readonly children: ComponentChildren
}

interface RenameProps<T> {
  readonly title: string
  readonly name: string
  readonly send: (name: string) => Promise<Outcome<T>>
  readonly done: (answer: T) => void
  readonly close: () => void
}

/** Gives a record another name. */
export function Rename<T>({ title, name, send, done, close }: RenameProps<T>) {
  return (
    <Dialog title={title} close={close}>
      <Form
        submit="Rename"
        cancel={close}
        send={(fields) => send(textIn(fields, 'name'))}
        done={(answer) => {
          done(answer)
          close()
        }}
      >
        <Field label="Name" name="name" maxLength={256} defaultValue={name} autofocus />
      </Form>
    </Dialog>
  )
}

/** Asks before something that cannot be taken back. */
export function Confirm<T>({ title, submit, send, done, close, children }: ConfirmProps<T>) {
  return (
    <Dialog title={title} close={close}>
      <Form submit={submit} send={send} done={done} cancel={close} isDangerous>
        <p>{children}</p>
      </Form>
    </Dialog>
  )
}
