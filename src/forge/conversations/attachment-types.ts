/**
 * The types of attachments. The extension of the name alone says the type: clients are not trusted,
 * and browsers are told the same type and not to guess.
 */

/** The types that browsers show. They can run nothing of these, unlike SVG and HTML. */
const SHOWN: ReadonlySet<string> = new Set([
  'image/png',
  'image/jpeg',
  'image/gif',
  'image/webp',
  'image/avif',
  'video/mp4',
  'video/webm',
  'text/plain',
])

/** Programs, which systems run when a user opens them. */
const EXECUTABLE: ReadonlySet<string> = new Set([
  'application/vnd.microsoft.portable-executable',
  'application/x-msdownload',
  'application/x-msdos-program',
  'application/x-msi',
  'application/x-executable',
])

/** The media type of a name with an unknown extension. */
const UNKNOWN = 'application/octet-stream'

/** Media types with their extensions (https://www.iana.org/assignments/media-types). */
const MEDIA_TYPES: Readonly<Record<string, string>> = {
  'image/png': 'png',
  'image/jpeg': 'jpg jpeg',
  'image/gif': 'gif',
  'image/webp': 'webp',
  'image/avif': 'avif',
  'image/bmp': 'bmp',
  'image/tiff': 'tif tiff',
  'image/svg+xml': 'svg svgz',
  'image/vnd.microsoft.icon': 'ico',
  'image/heic': 'heic',
  'video/mp4': 'mp4 m4v',
  'video/webm': 'webm',
  'video/quicktime': 'mov',
  'video/x-msvideo': 'avi',
  'video/x-matroska': 'mkv',
  'audio/mpeg': 'mp3',
  'audio/ogg': 'ogg oga opus',
  'audio/wav': 'wav',
  'audio/flac': 'flac',
  'text/plain': 'txt text log',
  'text/markdown': 'md markdown',
  'text/html': 'html htm',
  'text/css': 'css',
  'text/csv': 'csv',
  'text/calendar': 'ics',
  'text/javascript': 'js mjs',
  'text/x-diff': 'diff patch',
  'text/xml': 'xml',
  'application/xhtml+xml': 'xhtml xht',
  'application/json': 'json har cpuprofile',
  'application/yaml': 'yaml yml',
  'application/pdf': 'pdf',
  'application/rtf': 'rtf',
  'application/msword': 'doc',
  'application/vnd.ms-excel': 'xls',
  'application/vnd.ms-powerpoint': 'ppt',
  'application/vnd.openxmlformats-officedocument.wordprocessingml.document': 'docx',
  'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet': 'xlsx',
  'application/vnd.openxmlformats-officedocument.presentationml.presentation': 'pptx',
  'application/vnd.oasis.opendocument.text': 'odt',
  'application/vnd.oasis.opendocument.spreadsheet': 'ods',
  'application/vnd.oasis.opendocument.presentation': 'odp',
  'application/zip': 'zip',
  'application/gzip': 'gz tgz',
  'application/zstd': 'zst',
  'application/x-bzip2': 'bz2',
  'application/x-xz': 'xz',
  'application/x-tar': 'tar',
  'application/x-7z-compressed': '7z',
  'application/vnd.rar': 'rar',
  'application/vnd.tcpdump.pcap': 'pcap pcapng',
  'application/x-sh': 'sh bash',
  'application/vnd.microsoft.portable-executable': 'exe dll scr cpl sys efi',
  'application/x-msdos-program': 'com bat cmd pif',
  'application/x-msi': 'msi msp',
  'application/x-executable': 'elf run',
}

const OF_EXTENSION: ReadonlyMap<string, string> = new Map(
  Object.entries(MEDIA_TYPES).flatMap(([type, extensions]) =>
    extensions.split(' ').map((extension) => [extension, type] as const),
  ),
)

/** Returns the media type of a file by the extension of its name. */
function mediaTypeOf(name: string): string {
  const extension = /\.([^.]+)$/.exec(name)?.[1]?.toLowerCase() ?? ''
  return OF_EXTENSION.get(extension) ?? UNKNOWN
}

/** Returns the media type of a file that browsers show; undefined for one that they download. */
export function shownTypeOf(name: string): string | undefined {
  const type = mediaTypeOf(name)
  return SHOWN.has(type) ? type : undefined
}

/**
 * Returns whether a file may be attached.
 *
 * @param allowed as in `Settings.attachmentTypes`.
 */
export function isTypeAllowed(name: string, allowed: readonly string[]): boolean {
  const type = mediaTypeOf(name)
  const folded = name.toLowerCase()
  return allowed.some((entry) => {
    if (entry === '*/*') return !EXECUTABLE.has(type)
    if (!entry.includes('/')) return folded.endsWith(entry)
    return entry.endsWith('/*') ? type.startsWith(entry.slice(0, -1)) : type === entry
  })
}
