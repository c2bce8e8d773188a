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

/** Pictures that the script of the page has to load. */
export interface HeldPicture {
  readonly element: HTMLImageElement
  readonly href: string
  readonly type: string
}

/**
 * Takes the addresses of files from the pictures of a text, so that the browser does not ask for
 * them as a stranger. SVG stays out: an address of a blob belongs to the page, and a script of an
 * SVG that somebody opens under it would be a script of the page.
 */
export function holdPictures(content: DocumentFragment): readonly HeldPicture[] {
  return [...content.querySelectorAll('img')].flatMap((element) => {
    const src = element.getAttribute('src') ?? ''
    const { pathname, origin } = new URL(src, location.origin)
    if (origin !== location.origin || !RAW.test(pathname)) return []
    element.removeAttribute('src')
    const type = pictureType(pathname)
    return type === undefined || type === SVG ? [] : [{ element, href: src, type }]
  })
}

/** Loads the content of a picture as a user. Returns undefined if there is none. */
export async function loadPicture(
  { href, type }: HeldPicture,
  token: string,
  signal: AbortSignal,
): Promise<Blob | undefined> {
  const headers = { authorization: `Bearer ${token}` }
  const answer = await fetch(href, { headers, signal })
  // The type is ours: the bytes may be anything.
  return answer.ok ? new Blob([await answer.arrayBuffer()], { type }) : undefined
}
