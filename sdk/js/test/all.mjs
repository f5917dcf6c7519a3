// Runs the tests in one process: SDK_ENTRY is the module under test, SERVER the built publicapi.
for (const file of (process.env.TESTS ?? 'client,faults,signin,partner,readme').split(',')) await import(`./${file}.test.mjs`)
