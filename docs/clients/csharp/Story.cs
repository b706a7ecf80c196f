// A till sells an hour, changes it, misses events and catches up, lets the shooter buy, and ends the session. It is a webhook receiver as
// well: start the playground with its address, as README.md says.

using System;
using System.Collections.Concurrent;
using System.Collections.Generic;
using System.IO;
using System.Linq;
using System.Net;
using System.Text;
using System.Threading.Tasks;
using RangeGate;

static class Story
{
    static readonly string Api = Environment.GetEnvironmentVariable("API") ?? "http://127.0.0.1:8080/api/v2/pos";
    static readonly string Listen = Environment.GetEnvironmentVariable("LISTEN") ?? "127.0.0.1:3000";
    const string Range = "11111111-1111-4111-8111-111111111111";
    const string Token = "22222222-2222-4222-8222-222222222222";
    const string Secret = "whsec_cmFuZ2VnYXRlIHBsYXlncm91bmQ6IG5vIHNlY3JldCBhdCBhbGw=";
    const string Lane = "44444444-4444-4444-8444-000000000001";
    const string Group = "33333333-3333-4333-8333-000000000001";

    static void Main() => Run().GetAwaiter().GetResult();

    static async Task Run()
    {
        var gateway = new Gateway(Api, Range, Token);
        var till = new Till(Listen, Secret);
        var receipt = "receipt-" + Guid.NewGuid().ToString("N").Substring(0, 8);
        var order = new Order { CustomerName = "Jo Smith", LaneId = Lane, GroupId = Group, Duration = 60, EnablePurchasing = true, ExternalId = receipt };
        till.Open();
        var session = (await gateway.Sell(receipt, order)).Id;
        till.Expect(session, "sessionCreated");
        till.Expect(session, "sessionStarted");
        Console.WriteLine("sold: 60 minutes");
        Console.WriteLine("sold again: " + await Refusal(gateway.Sell(receipt + "-again", order)));
        Console.WriteLine("sold a third time: " + await Refusal(gateway.Sell(receipt + "-third", order)));
        Console.WriteLine("sold a fourth time: " + await Refusal(gateway.Sell(receipt + "-fourth", order)));
        Console.WriteLine("stopped in passing: " + await Refusal(gateway.Stop(receipt + "-passing", session)));
        Console.WriteLine("resumed while it runs: " + await Refusal(gateway.Resume(receipt + "-early", session)));
        await gateway.Pause(receipt + "-pause", session);
        till.Expect(session, "sessionPaused");
        Console.WriteLine("paused");

        // The till has handled everything so far. It goes on from here.
        var cursor = "0";
        EventPage page;
        do
        {
            page = await Read(gateway, cursor);
            cursor = page.Next;
        } while (page.Events.Length > 0);

        till.Close();
        await gateway.Extend(receipt + "-extend", session, 15);
        await gateway.Resume(receipt + "-resume", session);
        Console.WriteLine("down: extended, resumed");
        var missed = new List<string>();
        do
        {
            page = await Read(gateway, cursor);
            foreach (var logged in page.Events)
                if (till.Take("msg_" + logged.Id, logged.Payload) && logged.Payload.SessionId == session)
                    missed.Add(logged.Payload.Kind);
            cursor = page.Next;
        } while (page.Events.Length > 0);
        Console.WriteLine("caught up: " + string.Join(", ", missed));
        till.Expect(session, "sessionModified");
        till.Expect(session, "sessionResumed");
        till.Open();

        Console.WriteLine("waiting: buy time on lane 1");
        till.Expect(session, "sessionModified");
        var total = (await gateway.Session(session)).Duration;
        if (total != 60 + 15 + till.Bought) throw new Exception("the session has " + total + " minutes");
        await gateway.Stop(receipt + "-stop", session);
        till.Expect(session, "sessionStopped");
        Console.WriteLine("stopped");
    }

    /// <summary>Reads the next events. Where the cursor is of a log that is gone, as the gateway's store was replaced, it goes on from the
    /// oldest one that there is: the till leaves out what it knows.</summary>
    static async Task<EventPage> Read(Gateway gateway, string cursor)
    {
        try
        {
            return await gateway.Events(cursor);
        }
        catch (GatewayException refused) when (refused.Code == "cursor_gone")
        {
            return await gateway.Events(refused.Oldest);
        }
    }

    /// <summary>The code with which the gateway refuses.</summary>
    static async Task<string> Refusal(Task act)
    {
        try
        {
            await act;
        }
        catch (GatewayException refused)
        {
            return refused.Code;
        }
        return "no refusal";
    }
}

/// <summary>What the till knows: the events that it has, each once, and the minutes that shooters bought.</summary>
sealed class Till
{
    readonly string listen, secret;
    // In a real till: in the database, in the transaction that acts on the event.
    readonly ConcurrentDictionary<string, bool> known = new ConcurrentDictionary<string, bool>();
    readonly BlockingCollection<Happening> events = new BlockingCollection<Happening>();
    HttpListener server;

    public int Bought { get; private set; }

    public Till(string listen, string secret)
    {
        this.listen = listen;
        this.secret = secret;
    }

    /// <summary>Takes an event, however it came. False: the till has it already.</summary>
    public bool Take(string name, Happening happening)
    {
        if (!known.TryAdd(name, true)) return false;
        events.Add(happening);
        return true;
    }

    /// <summary>Waits for the session's next event of that kind. Others are left out: help, carrierHit, and what will be added one
    /// day.</summary>
    public void Expect(string session, string kind)
    {
        Happening happening;
        do
        {
            if (!events.TryTake(out happening, TimeSpan.FromMinutes(1))) throw new Exception(kind + " has not come");
        } while (happening.Kind != kind || happening.SessionId != session);
    }

    /// <summary>Opens the webhook.</summary>
    public void Open()
    {
        server = new HttpListener();
        server.Prefixes.Add("http://" + listen + "/");
        server.Start();
        var opened = server;
        Task.Run(() => Serve(opened));
    }

    public void Close() => server.Close();

    async Task Serve(HttpListener opened)
    {
        while (opened.IsListening)
        {
            HttpListenerContext context;
            try
            {
                context = await opened.GetContextAsync();
            }
            catch (Exception) when (!opened.IsListening) // closed
            {
                return;
            }
            Receive(context.Request, context.Response);
        }
    }

    void Receive(HttpListenerRequest request, HttpListenerResponse response)
    {
        var body = new MemoryStream();
        request.InputStream.CopyTo(body);
        var id = request.Headers["webhook-id"];
        Happening happening;
        try
        {
            happening = Webhook.Verify(secret, id, request.Headers["webhook-timestamp"], request.Headers["webhook-signature"], body.ToArray());
        }
        catch (ForgedException)
        {
            Answer(response, 401, "");
            return;
        }
        if (happening.Kind == "purchaseRequest")
        {
            Decide(happening, response);
            return;
        }
        Take(id, happening);
        Answer(response, 204, "");
    }

    /// <summary>Decides a purchase: the till sells time to the account of the session, and nothing else. The status is what counts.</summary>
    void Decide(Happening purchase, HttpListenerResponse response)
    {
        var other = purchase.Items.FirstOrDefault(item => item.Id != "time");
        if (other != null)
        {
            Console.WriteLine("refused at the lane: " + other.Quantity + " x " + other.Id);
            Answer(response, 409, "{\"error\":\"not on account\",\"user_message\":\"Please pay this at the counter.\",\"trace_id\":\"till-1\"}");
            return;
        }
        var minutes = purchase.Items.Sum(item => item.Quantity);
        Bought += minutes;
        Console.WriteLine("bought at the lane: " + minutes + " minutes");
        Answer(response, 200, "{\"success\":true,\"trace_id\":\"till-1\"}");
    }

    static void Answer(HttpListenerResponse response, int status, string body)
    {
        var text = Encoding.UTF8.GetBytes(body);
        response.StatusCode = status;
        response.KeepAlive = false;
        if (text.Length > 0) response.OutputStream.Write(text, 0, text.Length);
        response.Close();
    }
}
