import type { Timestamp } from '@bufbuild/protobuf/wkt'
import type { ComponentChildren, VNode } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Time } from '../components/formats.tsx'
import { Scrolling } from '../components/page.tsx'
import { numberText, t } from '../language/texts.tsx'

/** Time after which a page looks for the result of a first attempt. */
const LOOK_AGAIN_MS = 2000

/** Loads deliveries again while one of them waits for its first attempt. */
export function useSecondLook(value: unknown, isWaiting: boolean, reload: () => void): void {
  useEffect(() => {
    if (!isWaiting) return
    const timer = setTimeout(reload, LOOK_AGAIN_MS)
    return () => clearTimeout(timer)
  }, [value, isWaiting, reload])
}

/** How far a delivery is: the class of a tag, and a text. */
type DeliveryProgress = readonly [kind: string, text: string]

/** One delivery in a list. Its details are loaded when somebody opens it. */
export function DeliverySummary(props: {
  event: string
  progress: DeliveryProgress
  responseStatus: number
  createdAt: Timestamp | undefined
  children: () => ComponentChildren
}): VNode {
  const { event, progress, responseStatus, createdAt, children } = props
  const [isOpen, setOpen] = useState(false)
  const [kind, text] = progress
  return (
    <details
      class="file"
      onToggle={(event) => setOpen((event.currentTarget as HTMLDetailsElement).open)}
    >
      <summary>
        <span class="path">{event}</span>
        <span class={`tag ${kind}`}>{text}</span>
        {responseStatus > 0 && <span>{responseStatus}</span>}
        <Time at={createdAt} />
      </summary>
      {isOpen && <div class="inside">{children()}</div>}
    </details>
  )
}

/** Facts about the attempts of a delivery. */
export function DeliveryFacts(props: {
  id: string
  attemptCount: number
  lastAttemptAt: Timestamp | undefined
  durationMs?: bigint
  error: string
}): VNode {
  const { id, attemptCount, lastAttemptAt, durationMs, error } = props
  return (
    <dl>
      <dt>{t('Delivery')}</dt>
      <dd>{id}</dd>
      <dt>{t('Attempts')}</dt>
      <dd>{numberText(attemptCount)}</dd>
      {attemptCount > 0 && (
        <>
          <dt>{t('Last attempt')}</dt>
          <dd>
            <Time at={lastAttemptAt} />
            {durationMs !== undefined && `, ${numberText(durationMs)} ms`}
          </dd>
        </>
      )}
      {error !== '' && (
        <>
          <dt>{t('Failure')}</dt>
          <dd>{error}</dd>
        </>
      )}
    </dl>
  )
}

/** A request or a response. */
export function DeliveryBody(props: {
  kind: 'request' | 'response'
  first: string
  text: string
}): VNode {
  const { kind, first, text } = props
  const isRequest = kind === 'request'
  return (
    <>
      <h5>{isRequest ? t('Request') : t('Response')}</h5>
      <p>{first}</p>
      {text !== '' && (
        <Scrolling label={isRequest ? t('Body of the request') : t('Body of the response')}>
          <pre>{indented(text)}</pre>
        </Scrolling>
      )}
    </>
  )
}

/** Returns JSON with line breaks, and any other text as it is. */
function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}
