import { t } from '../language/texts.tsx'
import { Code, ConnectError } from './calls.ts'

const CODES: Readonly<Record<number, Code>> = {
  400: Code.InvalidArgument,
  401: Code.Unauthenticated,
  403: Code.PermissionDenied,
  404: Code.NotFound,
  409: Code.AlreadyExists,
  413: Code.InvalidArgument,
  422: Code.InvalidArgument,
  429: Code.ResourceExhausted,
  503: Code.Unavailable,
}

/** A file that is sent over REST, since a browser cannot stream a request over Connect. */
interface Upload {
  readonly href: string
  readonly file: Blob
  readonly token: string | undefined
  readonly signal: AbortSignal
  /** Called with the part that is sent, from 0 to 1. */
  readonly onProgress?: (part: number) => void
}

/**
 * Sends a file by POST, and returns the JSON of the answer.
 *
 * @throws ConnectError with the message of the server, or if there is no answer.
 */
export function sendFile({ href, file, token, signal, onProgress }: Upload): Promise<string> {
  // Not fetch, which says nothing about the progress of a request.
  const request = new XMLHttpRequest()
  request.open('POST', href)
  request.setRequestHeader('content-type', 'application/octet-stream')
  if (token !== undefined) request.setRequestHeader('authorization', `Bearer ${token}`)
  return new Promise((resolve, reject) => {
    request.upload.addEventListener('progress', ({ loaded, total }) => onProgress?.(loaded / total))
    request.addEventListener('load', () => {
      if (request.status < 300) return resolve(request.responseText)
      reject(new ConnectError(messageOf(request), CODES[request.status] ?? Code.Unknown))
    })
    request.addEventListener('error', () =>
      reject(new ConnectError(t('the server has ended the upload'), Code.Unavailable)),
    )
    request.addEventListener('abort', () =>
      reject(new ConnectError(t('the upload was stopped'), Code.Canceled)),
    )
    signal.addEventListener('abort', () => request.abort())
    request.send(file)
  })
}

function messageOf({ responseText, status }: XMLHttpRequest): string {
  try {
    const { message } = JSON.parse(responseText) as { message?: unknown }
    if (typeof message === 'string' && message !== '') return message
  } catch {
    // A proxy has answered with something else.
  }
  return t('the server has answered with status {status}', { status: String(status) })
}
