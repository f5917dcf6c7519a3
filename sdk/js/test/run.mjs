// Builds the SDK, packs it, installs the tarball into a clean directory, and tests what is there: on every supported Node, as
// an ES module and as CommonJS, and in Chromium; with the checks of others on the package. run.mjs [SERVER [18 20 …]]
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'
import { gzipSync } from 'node:zlib'

const here = fileURLToPath(new URL('.', import.meta.url))
const server = resolve(process.argv[2] ?? join(here, '../../../bin/publicapi'))
const versions = process.argv.length > 3 ? process.argv.slice(3) : ['18', '20', '22', '24']
const clean = mkdtempSync(join(tmpdir(), 'namewharf-sdk-'))
process.on('exit', () => rmSync(clean, { recursive: true, force: true }))
const tools = join(here, 'node_modules')
let failed = false

// run ends with the output of a program; show is printed where it fails.
function run(name, file, args, options = {}) {
  const began = Date.now()
  return new Promise((done) => {
    execFile(file, args, { maxBuffer: 64 << 20, ...options }, (error, out, errors) => {
      const seconds = ((Date.now() - began) / 1000).toFixed(1)
      console.log(`${error ? 'FAILED' : 'ok'}  ${name}  ${seconds} s`)
      if (error) {
        failed = true
        console.log(name.startsWith('Node') ? failures(out) + errors : out + errors)
      }
      done(out)
    })
  })
}

// failures are the parts of a TAP report that fail.
const failures = (tap) => tap.split(/^(?= *# Subtest: )/m).filter((part) => /^ *not ok/m.test(part)).join('') || tap.slice(-2000)

const node = (version) => join(tools, `node${version}`, 'bin', 'node')

async function pack() {
  await run('build', process.execPath, [join(here, '../build.mjs')])
  const packed = await run('pack', 'npm', ['pack', '--pack-destination', clean, '--json', '--loglevel=error'], { cwd: join(here, '..') })
  const { filename, files } = JSON.parse(packed)[0]
  const stray = files.map((file) => file.path).filter((path) => !/^(dist\/|README\.md$|CHANGELOG\.md$|LICENSE$|package\.json$)/.test(path))
  check('the tarball has the right files', stray.length === 0 && files.length > 20, stray)
  writeFileSync(join(clean, 'package.json'), '{"private":true}')
  await run('install into a clean directory', 'npm', ['install', `./${filename}`, '--offline', '--no-audit', '--no-fund', '--loglevel=error'], { cwd: clean })
  writeFileSync(join(clean, 'entry.mjs'), "export * from 'namewharf'\n")
  writeFileSync(join(clean, 'entry.cjs'), "module.exports = require('namewharf')\n")
  return join(clean, filename)
}

function check(name, good, more) {
  console.log(`${good ? 'ok' : 'FAILED'}  ${name}`)
  if (!good) {
    failed = true
    console.log(more)
  }
}

async function packageChecks(tarball) {
  await run('publint', process.execPath, [join(tools, 'publint/src/cli.js'), tarball, '--strict'])
  await run('attw --pack', process.execPath, [join(tools, '@arethetypeswrong/cli/dist/index.js'), tarball, '--no-emoji'])
  writeFileSync(join(clean, 'user.mts'), readFileSync(join(here, 'user.ts')))
  writeFileSync(join(clean, 'user.cts'), readFileSync(join(here, 'user.ts')))
  const strict = ['--strict', '--noEmit', '--target', 'es2022', '--exactOptionalPropertyTypes', '--noUncheckedIndexedAccess']
  const compile = (name, ...flags) => run(`tsc --strict, ${name}`, process.execPath, [join(tools, 'typescript/bin/tsc'), ...strict, ...flags, 'user.mts', 'user.cts'], { cwd: clean })
  await compile('node16', '--module', 'node16', '--lib', 'es2022,dom,dom.iterable')
  await compile('bundler', '--module', 'esnext', '--moduleResolution', 'bundler', '--types', 'node', '--typeRoots', join(tools, '@types'), '--lib', 'es2022', '--skipLibCheck')
  await sizes()
}

// The limits are those of a bundle that esbuild minifies and gzip compresses.
async function sizes() {
  for (const [name, source, limit] of [['Namewharf', "export { Namewharf } from 'namewharf'", 12 << 10], ['all', "export * from 'namewharf'", 16 << 10]]) {
    for (const platform of ['browser', 'node']) {
      const file = join(clean, `size-${name}.mjs`)
      writeFileSync(file, source)
      const bundle = await bundled(file, platform)
      const bytes = gzipSync(bundle, { level: 9 }).length
      check(`${name} for ${platform}: ${bytes} bytes gzipped`, bytes > 1000 && bytes <= limit, `over ${limit}`)
    }
  }
}

async function bundled(file, platform, ...flags) {
  const out = `${file}.${platform}.js`
  await run(`esbuild for ${platform}`, join(tools, 'esbuild/bin/esbuild'), [file, '--bundle', '--minify', '--format=esm', `--platform=${platform}`, `--outfile=${out}`, '--log-level=warning', ...flags])
  return readFileSync(out)
}

async function reference() {
  const out = join(clean, 'docs')
  await run('typedoc', process.execPath, [join(tools, 'typedoc/bin/typedoc'), '--options', 'typedoc.json', '--out', out, '--logLevel', 'Warn', '--treatWarningsAsErrors'], { cwd: join(here, '..') })
  const [want, got] = [out, join(here, '../docs')].map((folder) => readFileSync(join(folder, 'README.md'), 'utf8'))
  check('docs/README.md is that of the source', want === got, 'run make golden, or internal/ci/sdkjs docs')
}

async function onNode(version, format) {
  const env = { ...process.env, SDK_ENTRY: join(clean, `entry.${format}`), SERVER: server, ...(format === 'cjs' && { TESTS: 'client,faults,signin,partner' }) }
  await run(`Node ${version}, ${format}`, node(version), ['--test-reporter=tap', join(here, 'all.mjs')], { env, timeout: 120_000 })
}

async function inChromium() {
  const file = join(clean, 'page.mjs')
  writeFileSync(file, `export { Namewharf, NamewharfError, Partner } from 'namewharf'`)
  await bundled(file, 'browser')
  const env = { ...process.env, SDK_ENTRY: join(clean, 'entry.mjs'), SERVER: server, BUNDLE: `${file}.browser.js` }
  await run('Chromium', process.execPath, [join(here, 'browser.mjs')], { env, timeout: 60_000 })
}

const tarball = await pack()
if (!failed) {
  const jobs = [() => packageChecks(tarball), inChromium, reference, ...versions.flatMap((version) => ['mjs', 'cjs'].map((format) => () => onNode(version, format)))]
  const worker = async () => { while (jobs.length > 0) await jobs.shift()() }
  await Promise.all([worker(), worker(), worker()])
}
process.exitCode = failed ? 1 : 0
