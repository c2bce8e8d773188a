import { toBase64 } from './formats.tsx'

/** Scripts of such a picture run where it is opened as a page, but not where it is an element. */
const SVG = 'image/svg+xml'

/** Pictures that browsers show without running anything that is in them. */
const TYPES: Readonly<Record<string, string>> = {
  png: 'image/png',
  jpg: 'image/jpeg',
  jpeg: 'image/jpeg',
  gif: 'image/gif',
  webp: 'image/webp',
  svg: SVG,
}

/** Returns the media type of a picture by the name of its file; undefined for other files. */
export function pictureType(name: string): string | undefined {
  return TYPES[name.slice(name.lastIndexOf('.') + 1).toLowerCase()]
}

/** The address of the content of a file, as pictures of texts have it. */
const RAW = /^\/[^/]+\/[^/]+\/raw\//

/** The address of an attachment, which does not say the type. */
const ATTACHMENT = /^\/attachments\/[\da-f-]{36}$/

/** The types of attachments that the server names. */
const NAMED = /^image\/(png|jpeg|gif|webp|avif)$/

/** Pictures that the script of the page has to load. */
export interface HeldPicture {
  readonly element: HTMLImageElement
  readonly href: string
  /** Undefined for a picture whose type the server names. */
  readonly type: string | undefined
}

/** A drawing that is larger has no place in a text. */
const MAX_SVG_BYTES = 1024 ** 2

/**
 * Takes the addresses of files from the pictures of a text that a browser could not show.
 *
 * @param isSignedIn whether the reader may see more than a stranger, as whom the browser would ask.
 *   A stranger needs the script for SVG only, which the server sends as text.
 */
export function holdPictures(
  content: DocumentFragment,
  isSignedIn: boolean,
): readonly HeldPicture[] {
  return [...content.querySelectorAll('img')].flatMap((element): HeldPicture[] => {
    const src = element.getAttribute('src') ?? ''
    const { pathname, origin } = new URL(src, location.origin)
    if (origin !== location.origin) return []
    if (ATTACHMENT.test(pathname)) {
      if (!isSignedIn) return []
      element.removeAttribute('src')
      return [{ element, href: src, type: undefined }]
    }
    if (!RAW.test(pathname)) return []
    const type = pictureType(pathname)
    if (!isSignedIn && type !== SVG) return []
    element.removeAttribute('src')
    return type === undefined ? [] : [{ element, href: src, type }]
  })
}

/**
 * Loads the content of a picture, and returns an address that shows it; undefined if there is none.
 * The address ends with the signal.
 *
 * An address of a blob belongs to the page, and a script of an SVG that somebody opens under it
 * would be a script of the page. A `data:` address belongs to nobody: no page of the server shares
 * its origin, and no link leads to it.
 *
 * @param token undefined for a stranger.
 */
export async function loadPicture(
  { href, type: known }: HeldPicture,
  token: string | undefined,
  signal: AbortSignal,
): Promise<string | undefined> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
  const answer = await fetch(href, { headers, signal })
  if (!answer.ok) return undefined
  const named = answer.headers.get('content-type') ?? ''
  const type = known ?? (NAMED.test(named) ? named : undefined)
  if (type === undefined) return undefined
  const bytes = await answer.arrayBuffer()
  // The type is ours: the bytes may be anything.
  if (type === SVG)
    return bytes.byteLength > MAX_SVG_BYTES
      ? undefined
      : `data:${type};base64,${toBase64(new Uint8Array(bytes))}`
  if (signal.aborted) return undefined
  const address = URL.createObjectURL(new Blob([bytes], { type }))
  signal.addEventListener('abort', () => URL.revokeObjectURL(address))
  return address
}
