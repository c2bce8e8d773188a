import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { startClientServer } from '../clients/server.mjs'
import { archive } from '../pack/archive.mjs'
import { root, run } from '../setup/child-process.mjs'
import { Failure } from '../setup/progress.mjs'

/** The file of Docker is part of the context, but `deploy/Dockerfile.dockerignore` leaves it out. */
const DOCKERFILE = 'deploy/Dockerfile'

/**
 * Writes the schema as clients download it: the same files as from a server of this version.
 * @param {string} folder
 * @param {string} version
 * @returns {Promise<string>} the names of the files
 */
export async function writeSchema(folder, version) {
  const server = await startClientServer([])
  try {
    const files = /** @type {const} */ ([
      ['branchline-proto.tar.gz', `branchline-proto-${version}.tar.gz`],
      ['branchline.binpb', `branchline-${version}.binpb`],
    ])
    for (const [path, name] of files) {
      const response = await fetch(`${server.url}/schema/${path}`)
      if (!response.ok) throw new Failure(`/schema/${path} was answered by ${response.status}.`)
      writeFileSync(join(folder, name), Buffer.from(await response.arrayBuffer()))
    }
    return files.map(([, name]) => name).join(', ')
  } finally {
    await server.stop()
  }
}

/**
 * Writes the image, where a container tool answers, and otherwise the context to build it from.
 * @param {string} folder
 * @param {string} version
 * @param {(what: string) => void} say
 * @returns {Promise<string>} the result in a few words
 */
export async function writeImage(folder, version, say) {
  const tag = `branchline:${version}`
  const tool = await containerTool()
  if (tool === undefined) {
    const name = `branchline-image-context-${version}.tar.gz`
    writeFileSync(join(folder, name), await imageContext())
    say('neither docker nor podman answers, so there is no image; elsewhere, this builds it:')
    say(`docker build -f ${DOCKERFILE} -t ${tag} - < ${name}`)
    return `no image; ${name} instead`
  }
  const name = `branchline-image-${version}.tar`
  for (const args of [
    ['build', '-f', DOCKERFILE, '-t', tag, '.'],
    ['save', '-o', join(folder, name), tag],
  ]) {
    say(`${tool} ${args.join(' ')}`)
    const { code, output } = await run(tool, args)
    if (code !== 0) throw new Failure(`${tool} ${args[0]} failed: read its output above.`, output)
  }
  return name
}

/** Returns a container tool whose server answers. */
async function containerTool() {
  for (const tool of ['docker', 'podman']) if ((await run(tool, ['info'])).code === 0) return tool
  return undefined
}

/**
 * Returns what `docker build` reads, as a gzipped tar archive without a folder of its own: the files
 * of Git that `deploy/Dockerfile.dockerignore` lets through, as they are in the clone.
 */
export async function imageContext() {
  const wanted = readFileSync(join(root, `${DOCKERFILE}.dockerignore`), 'utf8')
    .split('\n')
    .flatMap((line) => (line.startsWith('!') ? [line.slice(1)] : []))
  const { code, output } = await run('git', ['ls-files', '-z', '--', DOCKERFILE, ...wanted])
  if (code !== 0) throw new Failure('git ls-files failed: read its output above.', output)
  const paths = output.split('\0').filter((path) => path !== '')
  return archive(
    '.',
    paths.map((path) => ({ path, content: readFileSync(join(root, path)) })),
  )
}
