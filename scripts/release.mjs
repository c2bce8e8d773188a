// `npm run release -- 1.2.3`: writes a version into package.json and CHANGELOG.md, and into
// dist/release what is published: notes, tarball, schema, image. `--dry-run` says what it would do
// and writes nothing. Committing, tagging and publishing stay with the person who releases.
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { checkVersion, notesOf, releasedChangelog, withVersion } from './release/plan.mjs'
import { root, run } from './setup/child-process.mjs'
import { explainFailure, Failure, step } from './setup/progress.mjs'
import { setUp } from './setup/set-up.mjs'

const { values, positionals } = parseArgs({
  options: { 'dry-run': { type: 'boolean', default: false } },
  allowPositionals: true,
})
const [version = ''] = positionals

await explainFailure(async () => {
  const read = (/** @type {string} */ name) => readFileSync(join(root, name), 'utf8')
  const changelog = read('CHANGELOG.md')
  checkVersion(JSON.parse(read('package.json')).version, version, changelog)
  const notes = notesOf(changelog)
  await checkClean()
  if (values['dry-run']) return process.stdout.write(planText(notes))

  const date = new Date().toISOString().slice(0, 10)
  const folder = join(root, 'dist', 'release')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  for (const name of ['package.json', 'package-lock.json'])
    writeFileSync(join(root, name), withVersion(read(name), version))
  writeFileSync(join(root, 'CHANGELOG.md'), releasedChangelog(changelog, version, date))
  writeFileSync(join(folder, `notes-${version}.md`), notes)
  await setUp('serve')
  // Imported here, because they import npm packages.
  const { pack } = await import('./pack/pack.mjs')
  const { writeImage, writeSchema } = await import('./release/artefacts.mjs')
  await step('tarball', async () => (await pack(folder)).path)
  await step('schema', () => writeSchema(folder, version))
  await step('image', (say) => writeImage(folder, version, say))
  process.stdout.write(nextText())
})

/** What is published is what Git has. */
async function checkClean() {
  const { code, output } = await run('git', ['status', '--porcelain'])
  if (code === 0 && output === '') return
  throw new Failure('Git has changes that are not committed: commit or remove them first.', output)
}

function planText(/** @type {string} */ notes) {
  return `Would write version ${version} into package.json, package-lock.json and CHANGELOG.md, and into dist/release:

  notes-${version}.md
  the tarball of the server for this platform and version of Node
  branchline-proto-${version}.tar.gz, branchline-${version}.binpb
  branchline-image-${version}.tar, or the build context where no container tool answers

Notes:

${notes}`
}

function nextText() {
  return `dist/release has what to publish. Then:

  git commit -am 'Release ${version}' && git tag -a v${version} -F dist/release/notes-${version}.md
`
}
