/** Dialogs: the native element, which keeps the focus inside, ends on Escape and gives the focus back. */
import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import type { Outcome } from '../api/call.ts'
import { Form } from './form.tsx'
import { Icon } from './icon.tsx'

interface DialogProps {
  readonly title: string
  readonly close: () => void
  /** A further class. */
  readonly class?: string
  readonly children: ComponentChildren
}

/** Open as long as it is rendered. */
export function Dialog({ title, close, class: name = '', children }: DialogProps) {
  const id = useId()
  const ref = useRef<HTMLDialogElement>(null)
  useLayoutEffect(() => {
    const opener = document.activeElement
    const dialog = ref.current!
    dialog.showModal()
    return () => {
      // As long as it is there nothing outside of it takes the focus.
      dialog.remove()
      if (opener instanceof HTMLElement) opener.focus()
    }
  }, [])
  return (
    <dialog ref={ref} class={`dialog ${name}`} aria-labelledby={id} onClose={close}>
      <div class="dialog-head">
        <h2 id={id}>{title}</h2>
        <button type="button" class="plain icon-only" aria-label="Close" onClick={close}>
          <Icon name="close" />
        </button>
      </div>
      {children}
    </dialog>
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
