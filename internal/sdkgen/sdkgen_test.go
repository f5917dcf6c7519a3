package sdkgen_test

import (
	"maps"
	"strings"
	"testing"

	"github.com/namewharf/namewharf/internal/sdkgen"
)

// What the document does not have today may be there tomorrow.
func TestForms(t *testing.T) {
	t.Parallel()
	api, err := sdkgen.Load([]byte(forms), []byte(`{"catalogue":{"operations":[{"op":"try_it"}]}}`))
	if err != nil {
		t.Fatal(err)
	}
	files := sdkgen.TypeScript(api)
	maps.Copy(files, sdkgen.Python(api))
	for name, lines := range map[string][]string{
		"types.ts": {
			"  one: 'a' | 'b' | 3\n", "  none: string | null\n", "  either: string | Event2[]\n", "  both: Left & Right\n",
			"  counts: Record<string, number>\n", "  free: Record<string, unknown>\n", "  'odd-name'?: boolean\n", "  fixed: 'x'\n", "  mixed: (string | null)[]\n",
			"  inline: { first_part: string; second?: number }\n", "  anything: unknown\n", "export interface PartnerEvent {\n",
			"export interface LeftInput {\n  leftSide?: string\n}", "  dryRun?: boolean\n", "  left?: LeftInput\n", "  /** a comment * / that ends */\n",
		},
		"operations.ts": {
			"  batch: true,\n", "  nested: ['left'],\n", "  exact: ['priceCents'],\n", "  query: ['dry_run'],\n", "  list: { items: 'items', cursor: 'cursor', next: 'page.next_cursor' },\n",
		},
		"partner.ts": {
			"  listThings(input?: PartnerListThingsInput, options?: CallOptions): Paged<Left, PartnerListThingsAnswer> {\n",
			"  things(input?: PartnerListThingsInput, options?: CallOptions): Paged<Left, PartnerListThingsAnswer> {\n    return this.listThings(input, options)\n",
			"  removeThing(thingId: string, options?: CallOptions): Promise<PartnerEvent> {\n    return this.send(operations.partnerRemoveThing, [thingId], {}, options)\n",
		},
		"types.py": {
			"    one: Literal[\"a\", \"b\", 3]\n", "    none: Union[str, None]\n", "    either: Union[str, List[Event2]]\n", "    both: Dict[str, Any]\n",
			"    counts: Dict[str, int]\n", "    free: Dict[str, Any]\n", "_AnswerOther = TypedDict(\"_AnswerOther\", {\"odd-name\": \"bool\"}, total=False)\n",
			"    fixed: Literal[\"x\"]\n", "    mixed: List[Union[str, None]]\n", "    inline: Dict[str, Any]\n", "    anything: Any\n", "class PartnerEvent(TypedDict):\n",
			"class Left(TypedDict, total=False):\n    left_side: str\n",
		},
		"_generated/operations.py": {
			"    batch=True,\n", "    query=(\"dry_run\",),\n", "    listed=Listed(\"items\", \"cursor\", \"page.next_cursor\"),\n",
		},
		"_generated/partner.py": {
			"    def list_things(self, *, cursor: Optional[str] = None,", " -> Pages[types.Left, types.PartnerListThingsAnswer]:\n",
			"    def things(self, *, cursor: Optional[str] = None,", "        return self.list_things(cursor=cursor, timeout=timeout,",
			"    def remove_thing(self, thing_id: str, *,", "self._send(operations.partner_remove_thing, (thing_id,), {}, (timeout, None, idempotency_key, headers))\n",
		},
		"_generated/async_partner.py": {"    async def remove_thing(self, thing_id: str, *,", "await self._send(", "    def things(", " -> AsyncPages["},
	} {
		for _, line := range lines {
			if !strings.Contains(files[name], line) {
				t.Errorf("%s has no %q:\n%s", name, line, files[name])
			}
		}
	}
}

func TestSnake(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{"priceCents": "price_cents", "from": "from_", "yield": "yield_", "after_id": "after_id", "odd-name": "odd_name"} {
		if got := sdkgen.Snake(name); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

// A parameter that the SDKs could not send is an error, not a call without it.
func TestUnknownParameter(t *testing.T) {
	t.Parallel()
	_, err := sdkgen.Load([]byte(strings.Replace(forms, `"in":"query"`, `"in":"cookie"`, 1)), []byte(`{}`))
	if err == nil || !strings.Contains(err.Error(), "dry_run in cookie") {
		t.Errorf("got %v", err)
	}
}

const forms = `{"paths":{
"/api/try":{"post":{"operationId":"try_it","summary":"Try it","description":"Doc.",
 "parameters":[{"name":"dry_run","in":"query","schema":{"type":"boolean"}}],
 "requestBody":{"content":{"application/json":{"schema":{"type":"object","properties":{
  "left":{"$ref":"#/components/schemas/Left"},"priceCents":{"type":"integer","description":"a comment */ that ends"}}}}}},
 "responses":{"200":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Answer"}}}}}}},
"/api/partner/v1/things":{"get":{"operationId":"partner_list_things","summary":"List things","description":"Doc.",
 "parameters":[{"name":"cursor","in":"query","schema":{"type":"string"}}],
 "responses":{"200":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/PartnerListThingsAnswer"}}}}}}},
"/api/partner/v1/things/{thing_id}":{"delete":{"operationId":"partner_remove_thing","summary":"Remove","description":"Doc.",
 "parameters":[{"name":"thing_id","in":"path","required":true,"schema":{"type":"string"}}],
 "responses":{"200":{"content":{"application/json":{"schema":{"$ref":"#/components/schemas/Event"}}}}}}}},
"components":{"schemas":{
"Answer":{"type":"object","required":["one","none","either","both","counts","free","fixed","mixed","inline","anything"],"properties":{
 "one":{"enum":["a","b",3]},"none":{"type":["string","null"]},
 "either":{"oneOf":[{"type":"string"},{"type":"array","items":{"$ref":"#/components/schemas/Event2"}}]},
 "both":{"allOf":[{"$ref":"#/components/schemas/Left"},{"$ref":"#/components/schemas/Right"}]},
 "counts":{"type":"object","additionalProperties":{"type":"integer"}},"free":{"type":"object","additionalProperties":true},
 "odd-name":{"type":"boolean"},"fixed":{"const":"x"},"mixed":{"type":"array","items":{"type":["string","null"]}},
 "inline":{"type":"object","properties":{"first_part":{"type":"string"},"second":{"type":"number"}},"required":["first_part"]},"anything":{}}},
"Event":{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]},
"Event2":{"type":"object","properties":{"id":{"type":"string"}},"required":["id"]},
"Left":{"type":"object","properties":{"left_side":{"type":"string"}}},
"PartnerListThingsAnswer":{"type":"object","required":["items","page"],"properties":{
 "items":{"type":"array","items":{"$ref":"#/components/schemas/Left"}},
 "page":{"type":"object","properties":{"next_cursor":{"type":["string","null"]}}}}},
"Right":{"type":"object","properties":{"right":{"type":"string"}}}}}}`
